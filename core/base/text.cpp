// SPDX-License-Identifier: BSD-2-Clause
#include "core/base/text.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <utility>
#include <vector>

#include "core/base/ascii.h"
#include "core/base/utf8.h"

namespace memstat {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }

/// The first blank at or after `at`, or the end.
std::size_t find_blank(std::string_view text, std::size_t at) {
  constexpr std::uint64_t kLowBits = 0x0101010101010101U;
  // The lowest bit found is exact; a carry may add others only above it.
  for (; std::endian::native == std::endian::little && at + 8 <= text.size(); at += 8) {
    const auto bytes = load<std::uint64_t>(text, at);
    const std::uint64_t no_space = bytes ^ kLowBits * ' ';
    const std::uint64_t no_tab = bytes ^ kLowBits * '\t';
    const std::uint64_t found = (((no_space - kLowBits) & ~no_space) | ((no_tab - kLowBits) & ~no_tab)) & kLowBits << 7U;
    if (found != 0) return at + static_cast<std::size_t>(std::countr_zero(found)) / 8;
  }
  while (at < text.size() && !is_blank(text[at])) ++at;
  return at;
}

/// Whether the valid UTF-8 sequence of `length` bytes is a control character: C0, DEL or C1.
bool is_control(std::string_view text, std::size_t length) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (length == 1) return byte(0) < 0x20 || byte(0) == 0x7F;
  return length == 2 && byte(0) == 0xC2 && byte(1) < 0xA0;
}

template <typename Number>
std::optional<Number> parse_whole(std::string_view text, int base) {
  Number value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, base);
  return error == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

template <typename Visit>
bool visit_ranges(std::string_view list, Visit visit) {
  list = trim(list);
  if (list.empty()) return false;
  while (true) {
    const std::size_t comma = list.find(',');
    const std::string_view item = list.substr(0, comma);
    const std::size_t dash = item.find('-');
    const auto low = parse_u64(item.substr(0, dash));
    const auto high = dash == std::string_view::npos ? low : parse_u64(item.substr(dash + 1));
    if (!low || !high || *low > *high || *high > 0xFFFFFFFEU) return false;
    visit(static_cast<std::uint32_t>(*low), static_cast<std::uint32_t>(*high));
    if (comma == std::string_view::npos) return true;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace

std::optional<std::uint64_t> parse_u64(std::string_view text) { return parse_whole<std::uint64_t>(text, 10); }

std::optional<std::uint64_t> parse_hex_u64(std::string_view text) { return parse_whole<std::uint64_t>(text, 16); }

std::optional<std::uint64_t> parse_number(std::string_view text) {
  return text.starts_with("0x") || text.starts_with("0X") ? parse_hex_u64(text.substr(2)) : parse_u64(text);
}

std::optional<std::int64_t> parse_i64(std::string_view text) { return parse_whole<std::int64_t>(text, 10); }

std::optional<double> parse_decimal(std::string_view text) {
  const std::size_t point = text.find('.');
  const auto whole = parse_u64(text.substr(0, point));
  if (!whole || point == std::string_view::npos) return whole;
  const std::string_view digits = text.substr(point + 1);
  const auto fraction = parse_u64(digits);
  if (!fraction) return std::nullopt;
  double scale = 1;
  for (std::size_t i = 0; i < digits.size(); ++i) scale *= 10;
  return static_cast<double>(*whole) + static_cast<double>(*fraction) / scale;
}

bool next_line(std::string_view& rest, std::string_view& line) {
  if (rest.empty()) return false;
  const std::size_t end = rest.find('\n');
  line = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return true;
}

bool next_name(std::string_view& rest, std::string_view& name) {
  const std::size_t end = rest.find('\0');
  if (end == std::string_view::npos) return false;
  name = rest.substr(0, end);
  rest.remove_prefix(end + 1);
  return true;
}

bool next_word(std::string_view& rest, std::string_view& word) {
  std::size_t begin = 0;
  while (begin < rest.size() && is_blank(rest[begin])) ++begin;
  const std::size_t end = find_blank(rest, begin);
  word = rest.substr(begin, end - begin);
  rest.remove_prefix(end);
  return !word.empty();
}

std::string_view trim(std::string_view text) {
  const auto skip = [](char c) { return is_blank(c) || c == '\n' || c == '\r'; };
  while (!text.empty() && skip(text.front())) text.remove_prefix(1);
  while (!text.empty() && skip(text.back())) text.remove_suffix(1);
  return text;
}

std::string join_words(std::span<const std::string_view> words, std::string_view last) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i != 0) text += i + 1 == words.size() ? last : std::string_view(", ");
    text += words[i];
  }
  return text;
}

std::string in_quotes(std::string_view text, std::string_view special) {
  std::string out = "'";
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) out += '\\';
    out += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return out + "'";
}

bool decode_percent(std::string_view raw, bool plus_is_blank, std::string& text) {
  text.clear();
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '%') {
      text += plus_is_blank && raw[i] == '+' ? ' ' : raw[i];
      continue;
    }
    const int high = i + 2 < raw.size() ? hex_digit(raw[i + 1]) : -1;
    const int low = i + 2 < raw.size() ? hex_digit(raw[i + 2]) : -1;
    if (high < 0 || low < 0) return false;
    text += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return true;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  const auto fold = [](char c) { return c == '-' ? '_' : ascii_lower(c); };
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (fold(a[i - 1]) == fold(b[j - 1]) ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, replaced}));
    }
  }
  return row[b.size()];
}

bool is_valid_label_text(std::string_view text) {
  // Fast path for printable ASCII, which nearly all names are: eight bytes at a time, none below a blank, DEL or with its
  // high bit set.
  constexpr std::uint64_t kHighBits = 0x8080808080808080U;
  constexpr std::uint64_t kLowBits = 0x0101010101010101U;
  constexpr std::uint64_t kBlanks = 0x2020202020202020U;
  const auto is_plain = [&text](std::size_t at) {
    const auto word = load<std::uint64_t>(text, at);
    return ((word | (word - kBlanks) | (word + kLowBits)) & kHighBits) == 0;
  };
  if (text.size() >= 8) {
    std::size_t at = 0;
    while (at + 8 <= text.size() && is_plain(at)) at += 8;
    if (at + 8 > text.size() && is_plain(text.size() - 8)) return true;
    text.remove_prefix(at);
  }
  while (!text.empty()) {
    const std::size_t length = character_size(text);
    if (length == 0 || is_control(text, length)) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string make_label_text(std::string_view text) {
  std::string label;
  label.reserve(text.size() + 8);
  while (!text.empty()) {
    const std::size_t length = character_size(text);
    if (length == 0) {
      label += "\xEF\xBF\xBD";
      text.remove_prefix(1);
      continue;
    }
    if (is_control(text, length)) {  // in two-byte sequences the second byte is the code point
      const auto character = static_cast<unsigned char>(text[length - 1]);
      label += length == 1 ? "\\x" : "\\u00";
      append_hex(label, character, 2);
    } else {
      label += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return label;
}

std::size_t find_invalid_utf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = character_size(text.substr(at));
    if (length == 0) break;
    at += length;
  }
  return at;
}

std::optional<std::uint32_t> highest_of_list(std::string_view list) {
  std::uint32_t highest = 0;
  if (!visit_ranges(list, [&](std::uint32_t, std::uint32_t high) { highest = high > highest ? high : highest; })) {
    return std::nullopt;
  }
  return highest;
}

std::optional<std::uint32_t> count_of_list(std::string_view list) {
  std::uint32_t count = 0;
  if (!visit_ranges(list, [&](std::uint32_t low, std::uint32_t high) { count += high - low + 1; })) return std::nullopt;
  return count;
}

std::string format_list(std::span<const std::uint32_t> numbers) {
  std::string list;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::uint32_t first = numbers[i];
    while (i + 1 < numbers.size() && numbers[i + 1] == numbers[i] + 1) ++i;
    list += (list.empty() ? "" : ",") + std::to_string(first);
    if (numbers[i] != first) list += "-" + std::to_string(numbers[i]);
  }
  return list;
}

bool list_has(std::string_view list, std::uint32_t number) {
  bool is_named = false;
  const auto look = [&](std::uint32_t low, std::uint32_t high) { is_named = is_named || (low <= number && number <= high); };
  return visit_ranges(list, look) && is_named;
}

bool lists_overlap(std::string_view a, std::string_view b) {
  bool is_common = false;
  const auto look = [&](std::uint32_t low, std::uint32_t high) {
    return visit_ranges(b, [&](std::uint32_t other_low, std::uint32_t other_high) {
      is_common = is_common || (low <= other_high && other_low <= high);
    });
  };
  return visit_ranges(a, look) && is_common;
}

std::string_view component_after(std::string_view path, std::string_view prefix, std::string_view& rest) {
  rest = {};
  if (!path.starts_with(prefix)) return {};
  path.remove_prefix(prefix.size());
  const std::size_t slash = path.find('/');
  if (slash != std::string_view::npos) rest = path.substr(slash + 1);
  return path.substr(0, slash);
}

}  // namespace memstat
