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

/// How many columns a terminal needs for valid UTF-8: two for an East Asian or pictorial character, none for one that is
/// combined with the last, one for any other. As wcwidth(3) has it where the locale is one of Unicode.
std::size_t width_of(std::string_view text);

/// The beginning of it that `width` columns hold.
std::string cut(std::string_view text, std::size_t width);

/// `text` in at most `width` columns: where it needs more, what is in its middle gives way to an ellipsis, so that names
/// with a common beginning, or a common end, are still told apart.
std::string shortened(std::string_view text, std::size_t width);

/// Columns of the terminal that standard output is; 0: it is none, or its size is not known.
std::size_t terminal_width();

/// A name for a column of that width in a table whose layout is given: shortened where standard output is a terminal, whole
/// elsewhere, where programs read it.
std::string column_name(std::string_view name, std::size_t width);

/// `text` moved to the right or left of `width` columns; whole, also when it is wider.
std::string to_right(std::string_view text, std::size_t width);
std::string to_left(std::string_view text, std::size_t width);
std::string to_right(std::uint64_t number, std::size_t width);

/// A type's name for a terminal: hidden characters, with which a hostile kernel or capture could steer it or mislead whoever
/// reads it, become visible escapes, \x1b or \u202e.
std::string printable(std::string_view name);

/// The same of any bytes, such as a path: what is not part of valid UTF-8 becomes '?'.
std::string printable_bytes(std::string_view bytes);

/// The cells of one line of a table.
using TableRow = std::vector<std::string>;

/// Rows of equally many cells in columns, two blanks between them: the first `left` columns begin at the left, the others
/// end at the right. Where `width`, which is not 0, does not hold them, the last of the columns on the left, the name, is
/// shortened, to 16 columns at most.
std::string table_text(const std::vector<TableRow>& rows, std::size_t left, std::size_t width = terminal_width());

/// The same as comma-separated values (RFC 4180, lines end with a line feed). A cell "-", for what is unknown, is empty.
std::string table_csv(const std::vector<TableRow>& rows);

}  // namespace memstat::ctl
