// SPDX-License-Identifier: BSD-2-Clause
// Small, bounds-checked readers of text and of fixed-width binary records. Only make_label_text allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace memstat {

/// The whole of `text` as a decimal number: digits only, at least one, at most 2^64-1. Anything else: nothing.
std::optional<std::uint64_t> parse_u64(std::string_view text);

/// The whole of `text` as a hexadecimal number without prefix: digits only, at least one, at most 2^64-1.
std::optional<std::uint64_t> parse_hex_u64(std::string_view text);
/// As parse_u64, with an optional leading '-'.
std::optional<std::int64_t> parse_i64(std::string_view text);

/// The whole of `text` as a decimal number of at most 19 digits, with or without a point and digits behind it: no sign, no
/// exponent. (std::from_chars reads no double with libc++ before 20, and strtod asks for the locale.)
std::optional<double> parse_decimal(std::string_view text);

/// Cuts the next line off `rest` (without its newline). False when nothing is left. A last line without a newline counts.
bool next_line(std::string_view& rest, std::string_view& line);

/// Cuts the next run of non-blank characters off `rest` (blanks are space and tab). False when only blanks are left.
bool next_word(std::string_view& rest, std::string_view& word);

/// Cuts the next name off `rest`, a list of names that each end with a NUL, as KernelView::list_directories makes it. False
/// when none is left.
bool next_name(std::string_view& rest, std::string_view& name);

/// `text` without blanks and line ends on both sides.
std::string_view trim(std::string_view text);

/// "a, b or c": `last`, such as " or ", stands before the last one. "" for none.
std::string join_words(std::span<const std::string_view> words, std::string_view last);

/// Edits (insert, delete, replace) from `a` to `b`, '-' and '_' and the cases being the same. Both are short.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// Whether `text` is valid UTF-8 without control characters (U+0000 to U+001F, U+007F to U+009F): what a label holds.
bool is_valid_label_text(std::string_view text);

/// `text` as a label holds it: each byte that is not part of valid UTF-8 replaced by U+FFFD, each control character by a
/// visible escape (\x1b; from U+0080 on \u009b), so that a page in a terminal does nothing but show.
std::string make_label_text(std::string_view text);
/// The most bytes that make_label_text makes of one: of a control character, \x1b.
inline constexpr std::size_t kMostLabelBytes = 4;

/// Offset of the first byte that is not part of valid UTF-8; text.size() when there is none.
std::size_t find_invalid_utf8(std::string_view text);

/// CPU or node list in the kernel's notation, "0-3,6": its highest number, or nothing when it is malformed or empty.
std::optional<std::uint32_t> highest_of_list(std::string_view list);

/// How many CPUs or nodes such a list names, or nothing when it is malformed or empty.
std::optional<std::uint32_t> count_of_list(std::string_view list);

/// Whether such a list names `number`; false when it is malformed or empty.
bool list_has(std::string_view list, std::uint32_t number);

/// Whether two such lists name a number in common; false when one is malformed or empty.
bool lists_overlap(std::string_view a, std::string_view b);

/// A fixed-width unsigned integer in host byte order at `offset`. Requires offset + sizeof(T) <= bytes.size().
template <typename T>
T load(std::string_view bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

}  // namespace memstat
