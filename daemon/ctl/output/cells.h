// SPDX-License-Identifier: BSD-2-Clause
// Text in columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

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

/// The words in lines of at most 100 columns, each behind the indent; lines of the text stay lines.
std::string wrapped(std::string_view text, std::string_view indent);

}  // namespace memstat::ctl
