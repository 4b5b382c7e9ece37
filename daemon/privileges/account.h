// SPDX-License-Identifier: BSD-2-Clause
// Which account the key `user` means on this machine.
#pragma once

#include <string>
#include <string_view>

namespace memstat {

/// `user`, but "nobody" where it is `own` and this machine has no such account: the packages make memstatd's own, a build
/// from source does not. What cannot be looked up counts as not there. Thread safety: none, as getpwnam(3).
std::string account_for(const std::string& user, std::string_view own);

}  // namespace memstat
