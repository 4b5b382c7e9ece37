// SPDX-License-Identifier: BSD-2-Clause
// Text in columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace memstat::ctl {

/// How many columns a terminal needs for valid UTF-8: one a character.
std::size_t width_of(std::string_view text);

/// `text` moved to the right or left of `width` columns; whole, also when it is wider.
std::string to_right(std::string_view text, std::size_t width);
std::string to_left(std::string_view text, std::size_t width);
std::string to_right(std::uint64_t number, std::size_t width);

/// A type's name for a terminal: control characters, which a hostile capture could steer it with, become '?'.
std::string printable(std::string_view name);

/// The same of any bytes, such as a path: what is not part of valid UTF-8 becomes '?' as well.
std::string printable_bytes(std::string_view bytes);

}  // namespace memstat::ctl
