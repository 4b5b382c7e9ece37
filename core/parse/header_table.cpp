// SPDX-License-Identifier: BSD-2-Clause
#include "core/parse/header_table.h"

#include <array>

#include "core/base/text.h"

namespace memstat {
namespace {

/// Maximum number of wanted columns; no table here needs more.
constexpr std::size_t kMaxColumns = 8;

/// Removes the next line, which must end with a newline, from `rest`.
bool next_whole_line(std::string_view& rest, std::string_view& line) {
  const std::size_t end = rest.find('\n');
  if (end == std::string_view::npos) return false;
  line = rest.substr(0, end);
  rest.remove_prefix(end + 1);
  return true;
}

std::optional<std::uint64_t> parse_number(std::string_view text, Digits digits) {
  return digits == Digits::kDecimal ? parse_u64(text) : parse_hex_u64(text);
}

/// Adds the values of one row. False if one is missing, not a number, or overflows.
bool add_row(std::string_view row, Digits digits, std::span<ColumnTotal> columns,
             const std::array<std::optional<std::size_t>, kMaxColumns>& places, bool is_first) {
  std::size_t missing = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) missing += places[i] ? 1 : 0;
  std::string_view word;
  for (std::size_t place = 0; missing != 0; ++place) {
    if (!next_word(row, word)) return false;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (places[i] != place) continue;
      const auto value = parse_number(word, digits);
      if (!value || __builtin_add_overflow(columns[i].sum, *value, &columns[i].sum)) return false;
      if (is_first) columns[i].first = *value;
      --missing;
    }
  }
  return true;
}

}  // namespace

std::optional<std::size_t> column_of(std::string_view header, std::string_view name) {
  std::string_view word;
  for (std::size_t place = 0; next_word(header, word); ++place) {
    if (word == name) return place;
  }
  return std::nullopt;
}

std::optional<std::size_t> sum_columns(std::string_view text, Digits digits, std::span<ColumnTotal> columns,
                                       std::size_t& rows) {
  rows = 0;
  std::string_view rest = text;
  std::string_view line;
  if (columns.size() > kMaxColumns || !next_whole_line(rest, line)) return 0;
  std::array<std::optional<std::size_t>, kMaxColumns> places;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    places[i] = column_of(line, columns[i].name);
    columns[i].is_present = places[i].has_value();
    columns[i].first = 0;
    columns[i].sum = 0;
  }
  while (!rest.empty()) {
    const std::size_t offset = text.size() - rest.size();
    if (!next_whole_line(rest, line) || !add_row(line, digits, columns, places, rows == 0)) return offset;
    ++rows;
  }
  return std::nullopt;
}

std::optional<std::size_t> read_paired_numbers(std::string_view text, std::string_view prefix,
                                               std::span<KeyedNumber> numbers) {
  std::string_view rest = text;
  std::string_view names;
  std::string_view values;
  while (!rest.empty()) {
    const std::size_t offset = text.size() - rest.size();
    if (!next_whole_line(rest, names)) return offset;
    if (!names.starts_with(prefix)) continue;
    const std::size_t values_offset = text.size() - rest.size();
    if (!next_whole_line(rest, values) || !values.starts_with(prefix)) return values_offset;
    names.remove_prefix(prefix.size());
    values.remove_prefix(prefix.size());
    std::size_t next = 0;  // expected index of the next number, if they are in text order
    std::size_t missing = numbers.size();
    std::string_view name;
    std::string_view value;
    while (missing > 0 && next_word(names, name)) {
      const bool has_value = next_word(values, value);
      for (std::size_t tries = 0; tries < numbers.size(); ++tries) {
        const std::size_t at = (next + tries) % numbers.size();
        if (numbers[at].key != name || numbers[at].value) continue;
        numbers[at].value = has_value ? parse_u64(value) : std::nullopt;
        if (!numbers[at].value) return values_offset;
        next = at + 1;
        --missing;
        break;
      }
    }
    return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace memstat
