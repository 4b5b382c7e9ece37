// SPDX-License-Identifier: BSD-2-Clause
// IPv4 addresses as people write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace memstat {

/// "192.0.2.1" as a number in host byte order. Anything else, also numbers with leading zeros, which are octal to some
/// programs: nothing.
std::optional<std::uint32_t> parse_ipv4(std::string_view text);

/// The reverse of parse_ipv4.
std::string format_ipv4(std::uint32_t address);

/// The network mask of a prefix of 0 to 32 bits.
constexpr std::uint32_t ipv4_mask(unsigned prefix) { return prefix == 0 ? 0 : 0xFFFFFFFFU << (32 - prefix); }

}  // namespace memstat
