// SPDX-License-Identifier: BSD-2-Clause
// Parses the header "Authorization: Basic ...".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace memstat {

/// What a client claims to be. Not verified.
struct Credentials {
  std::string name;
  std::string password;
};

/// Parses the header's value: scheme Basic and base64 text that contains a colon. Rejects anything else, including other
/// characters in the base64 text, wrong padding and non-zero unused bits.
std::optional<Credentials> parse_basic_credentials(std::string_view value);

}  // namespace memstat
