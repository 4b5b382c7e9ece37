// SPDX-License-Identifier: BSD-2-Clause
// Small, bounds-checked readers of text and of fixed-width binary records. Only make_label_text allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace memstat {

/// Parses all of `text` as a decimal number: at least one digit, digits only, at most 2^64-1.
std::optional<std::uint64_t> parse_u64(std::string_view text);

/// Parses all of `text` as a hexadecimal number without prefix: at least one digit, digits only, at most 2^64-1.
std::optional<std::uint64_t> parse_hex_u64(std::string_view text);
/// Parses all of `text` as a decimal number, or a hexadecimal one after 0x.
std::optional<std::uint64_t> parse_number(std::string_view text);
/// Like parse_u64, with an optional leading '-'.
std::optional<std::int64_t> parse_i64(std::string_view text);

/// Parses all of `text` as a decimal number of at most 19 digits, with an optional fraction: no sign, no exponent.
/// (std::from_chars reads no double with libc++ before 20, and strtod depends on the locale.)
std::optional<double> parse_decimal(std::string_view text);

/// Removes the next line from `rest` and returns it without its newline. Returns false at the end. A last line without a
/// newline counts.
bool next_line(std::string_view& rest, std::string_view& line);

/// Calls `take(line)` for each line from `begin` on, until it returns what is wrong with the line; nullptr: nothing. Errors:
/// kData of `path`, also for a last line without a newline.
template <typename Take>
Result<void> for_each_whole_line(std::string_view path, std::string_view text, std::size_t begin, Take take) {
  while (begin < text.size()) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string_view::npos) return data_error(path, begin, "ends within a line");
    if (const char* const wrong = take(text.substr(begin, end - begin))) return data_error(path, begin, wrong);
    begin = end + 1;
  }
  return {};
}

/// Calls `take(line)` for each line of a table between the first, `head`, and the last, "end". Returns the offset of the
/// first line that is wrong or missing; nothing for a table that is whole.
template <typename Take>
std::optional<std::size_t> for_each_table_line(std::string_view text, std::string_view head, Take take) {
  std::string_view rest = text;
  for (bool is_first = true; !rest.empty(); is_first = false) {
    const std::size_t offset = text.size() - rest.size();
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) return offset;
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    if (is_first ? line != head : line != "end" && !take(line)) return offset;
    if (!is_first && line == "end") return rest.empty() ? std::nullopt : std::optional(offset + end + 1);
  }
  return text.size();
}

/// Removes the next word from `rest`. Words are separated by spaces and tabs. Returns false if only these are left.
bool next_word(std::string_view& rest, std::string_view& word);

/// Removes the next name from `rest`, a list of NUL-terminated names as KernelView::list_directories makes it. Returns false
/// at the end.
bool next_name(std::string_view& rest, std::string_view& name);

/// `text` without leading and trailing blanks and line ends.
std::string_view trim(std::string_view text);

/// Joins words as "a, b or c": `last`, such as " or ", is the separator before the last word.
std::string join_words(std::span<const std::string_view> words, std::string_view last);

/// The members of a range, or their texts, with the separator between two.
template <typename Range, typename TextOf = std::identity>
std::string separated(const Range& range, std::string_view separator, TextOf text_of = {}) {
  std::string text;
  for (const auto& one : range) text.append(text.empty() ? "" : separator).append(std::invoke(text_of, one));
  return text;
}

/// `text` in single quotes, as one word of a shell. Characters in `special` are escaped with a backslash.
std::string in_quotes(std::string_view text, std::string_view special = {});

/// Decodes percent escapes of `raw` into `text`, replacing its content; for queries also '+' as a blank. Returns false
/// for a malformed escape.
bool decode_percent(std::string_view raw, bool plus_is_blank, std::string& text);

/// Edit distance (insert, delete, replace) between `a` and `b`, ignoring case and treating '-' and '_' as equal. Both texts
/// must be short.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// Whether `text` can be a label value: valid UTF-8 without control characters (U+0000 to U+001F, U+007F to U+009F).
bool is_valid_label_text(std::string_view text);

/// Makes `text` a label value: bytes that are not valid UTF-8 become U+FFFD, and control characters become visible escapes
/// (\x1b; from U+0080 on \u009b), so that a page cannot control the terminal that shows it.
std::string make_label_text(std::string_view text);
/// Maximum bytes that make_label_text writes for one input byte: \x1b for a control character.
inline constexpr std::size_t kMaxLabelBytes = 4;

/// Offset of the first byte that is not part of valid UTF-8; text.size() when there is none.
std::size_t find_invalid_utf8(std::string_view text);

/// The highest number in a CPU or node list in the kernel's notation ("0-3,6"). Nothing if the list is malformed or empty.
std::optional<std::uint32_t> highest_of_list(std::string_view list);

/// The number of CPUs or nodes in such a list. Nothing if it is malformed or empty.
std::optional<std::uint32_t> count_of_list(std::string_view list);

/// Formats ascending numbers as such a list.
std::string format_list(std::span<const std::uint32_t> numbers);

/// Whether such a list contains `number`. False if the list is malformed or empty.
bool list_has(std::string_view list, std::uint32_t number);

/// Whether two such lists have a number in common. False if one is malformed or empty.
bool lists_overlap(std::string_view a, std::string_view b);

/// The component of `path` after `prefix`, up to the next slash; `rest` gets what follows that slash. Empty if `path` does
/// not begin with `prefix`.
std::string_view component_after(std::string_view path, std::string_view prefix, std::string_view& rest);

/// Reads an unsigned integer in host byte order at `offset`. Requires offset + sizeof(T) <= bytes.size().
template <typename T>
T load(std::string_view bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

}  // namespace memstat
