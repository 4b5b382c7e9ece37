// SPDX-License-Identifier: BSD-2-Clause
// Text in columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace memstat::ctl {

/// The number of terminal columns of valid UTF-8: two for an East Asian wide or pictographic character, none for a
/// combining character, otherwise one. As wcwidth(3) in a Unicode locale.
std::size_t width_of(std::string_view text);

/// The longest prefix that fits into `width` columns.
std::string cut(std::string_view text, std::size_t width);

/// Shortens `text` to `width` columns by replacing its middle with an ellipsis, so that names with a common prefix or
/// suffix stay distinguishable.
std::string shortened(std::string_view text, std::size_t width);

/// Width of the terminal on standard output; 0: not a terminal, or unknown.
std::size_t terminal_width();

/// A name in a fixed-width column: shortened if standard output is a terminal; otherwise in full, because programs read
/// it.
std::string column_name(std::string_view name, std::size_t width);

/// Pads `text` to `width` columns, right- or left-aligned. Does not truncate.
std::string to_right(std::string_view text, std::size_t width);
std::string to_left(std::string_view text, std::size_t width);
std::string to_right(std::uint64_t number, std::size_t width);

/// A type's name for a terminal. Hidden characters become visible escapes (\x1b or \u202e): a hostile kernel or capture
/// could otherwise control the terminal or mislead its user.
std::string printable(std::string_view name);

/// Same for any bytes, such as a path; invalid UTF-8 becomes '?'.
std::string printable_bytes(std::string_view bytes);

inline constexpr std::size_t kTextWidth = 100;
/// Wraps the text at `most` columns, or at the width of a narrower terminal (0: none), with an indent before each line.
/// Existing line ends are kept.
std::string wrapped(std::string_view text, std::string_view indent, std::size_t terminal = terminal_width(),
                    std::size_t most = kTextWidth);

/// Wraps lines that are longer than the terminal (0: none) in the column of their last text, together with the lines that
/// follow in that column. Commands are not wrapped, so that they can be copied.
std::string fitted(std::string_view text, std::size_t terminal = terminal_width());

// ---- short figures ----

enum class Base { k1000, k1024 };

/// 2295 is "2.3k" (k1000) or "2.2K" (k1024). Uses the largest unit with a value of at least 1. With `has_decimal`,
/// values below 9.95 have one decimal; all others have none. Values from 2^63 on are negative (two counters that were
/// not read at the same instant).
std::string humanize(std::uint64_t value, Base base, bool has_decimal);

// ---- misspelt words ----

/// Suggests the words in `known` that are similar to `word`: "; did you mean dentry or inode_cache?"; "" if none is.
/// Words that contain it are similar. `sentence` follows in either case, and is not a new one if it
/// begins in lower case.
std::string did_you_mean(std::string_view word, std::span<const std::string> known, std::string_view sentence = {});

}  // namespace memstat::ctl
