// SPDX-License-Identifier: BSD-2-Clause
// The header "Authorization: Basic ..." as a name and a password.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace memstat {

/// What a client says that it is. Nothing in it has been verified.
struct Credentials {
  std::string name;
  std::string password;
};

/// The value of the header, which must be of scheme Basic with a text in base64 that has a colon. Anything else, also base64
/// with other characters, wrong padding or bits that mean nothing: nothing. Thread safety: safe.
std::optional<Credentials> parse_basic_credentials(std::string_view value);

}  // namespace memstat
