// SPDX-License-Identifier: BSD-2-Clause
// Text in columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace memstat::ctl {

/// How many columns a terminal needs for valid UTF-8: one a character.
std::size_t width_of(std::string_view text);

/// `text` moved to the right or left of `width` columns; whole, also when it is wider.
std::string to_right(std::string_view text, std::size_t width);
std::string to_left(std::string_view text, std::size_t width);
std::string to_right(std::uint64_t number, std::size_t width);

/// B of the character that `text`, which is not empty, begins with; 0: it begins with none that UTF-8 has.
std::size_t character_size(std::string_view text);

/// The character that `text`, which is not empty, begins with, when a terminal would not show it but do something: a control
/// character, one that has no width, or one that turns the direction of the text.
std::optional<std::uint32_t> hidden_character(std::string_view text);

/// A type's name for a terminal: hidden characters, with which a hostile kernel or capture could steer it or mislead whoever
/// reads it, become visible escapes, \x1b or \u202e.
std::string printable(std::string_view name);

/// The same of any bytes, such as a path: what is not part of valid UTF-8 becomes '?'.
std::string printable_bytes(std::string_view bytes);

/// The cells of one line of a table.
using TableRow = std::vector<std::string>;

/// Rows of equally many cells in columns, two blanks between them: the first `left` columns begin at the left, the others
/// end at the right.
std::string table_text(const std::vector<TableRow>& rows, std::size_t left);

/// The same as comma-separated values (RFC 4180, lines end with a line feed). A cell "-", for what is unknown, is empty.
std::string table_csv(const std::vector<TableRow>& rows);

}  // namespace memstat::ctl
