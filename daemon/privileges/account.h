// SPDX-License-Identifier: BSD-2-Clause
// Which account the key `user` means on this machine.
#pragma once

#include <string>

namespace memstat {

/// `user`, but "nobody" where it is kOwnUser (config.h) and this machine has no such account: the packages make it, a build
/// from source does not. What cannot be looked up counts as not there. Thread safety: none, as getpwnam(3).
std::string account_for(const std::string& user);

}  // namespace memstat
