// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/output/cells.h"

#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "core/base/ascii.h"
#include "core/base/text.h"
#include "core/base/utf8.h"

namespace memstat::ctl {

namespace {

std::string spaces(std::string_view text, std::size_t width) {
  const std::size_t used = width_of(text);
  return std::string(used < width ? width - used : 0, ' ');
}

void append_escape(std::string& text, std::uint32_t character) {
  const bool is_ascii = character < 0x80U;
  text += is_ascii ? "\\x" : "\\u";
  append_hex(text, character, is_ascii ? 2 : character > 0xFFFFU ? 6 : 4);
}

/// The next character: its columns and bytes.
struct CellWidth {
  std::size_t bytes;
  std::size_t columns;
};
CellWidth extent_of(std::string_view text) {
  const std::size_t size = character_size(text);
  if (size < 2) return {.bytes = 1, .columns = 1};
  const std::uint32_t character = first_character(text);
  struct Range {
    std::uint32_t first, last;
  };
  static constexpr Range kCombining[] = {{0x300, 0x36F},   {0x483, 0x489},   {0x591, 0x5BD},
                                         {0x610, 0x61A},   {0x64B, 0x65F},   {0x1AB0, 0x1AFF},
                                         {0x1DC0, 0x1DFF}, {0x20D0, 0x20FF}, {0xFE20, 0xFE2F}};
  static constexpr Range kWide[] = {{0x1100, 0x115F},  {0x2E80, 0x303E},   {0x3041, 0xA4CF},   {0xA960, 0xA97C},
                                    {0xAC00, 0xD7A3},  {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF01, 0xFF60},
                                    {0xFFE0, 0xFFE6},  {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF},
                                    {0x20000, 0x3FFFD}};
  const auto is_in = [character](const Range& range) { return character >= range.first && character <= range.last; };
  if (std::any_of(std::begin(kCombining), std::end(kCombining), is_in)) return {.bytes = size, .columns = 0};
  return {.bytes = size, .columns = std::any_of(std::begin(kWide), std::end(kWide), is_in) ? 2U : 1U};
}

std::string humanize_magnitude(std::uint64_t value, Base base, bool has_decimal) {
  const std::uint64_t divisor = base == Base::k1000 ? 1000 : 1024;
  const std::string_view units = base == Base::k1000 ? "kMGTPE" : "KMGTPE";

  // In hundredths, rounding down at each division as in the original. 100 times a value may exceed 64 bits, so whole
  // units and the rest are kept separate until they fit.
  std::size_t scale = 0;
  for (std::uint64_t left = value / divisor; left != 0; left /= divisor) ++scale;
  std::uint64_t whole = value;
  std::uint64_t rest = 0;  // hundredths
  for (std::size_t i = 0; i < scale; ++i) {
    const std::uint64_t hundredths = whole % divisor * 100 + rest;
    whole /= divisor;
    rest = hundredths / divisor;
  }

  std::string text;
  if (const std::uint64_t hundredths = whole < 10 ? whole * 100 + rest : 1000;
      hundredths < 995 && scale > 0 && has_decimal) {
    const std::uint64_t tenths = (hundredths + 5) / 10;
    text = std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
  } else {
    text = std::to_string(whole + (rest >= 50 ? 1 : 0));
  }
  if (scale > 0) text += units[scale - 1];
  return text;
}

constexpr std::size_t kMaxWord = 128;  // the effort is the product of both lengths

}  // namespace

std::size_t width_of(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const CellWidth extent = extent_of(text);
    width += extent.columns;
    text.remove_prefix(extent.bytes);
  }
  return width;
}

std::string cut(std::string_view text, std::size_t width) {
  std::size_t bytes = 0;
  std::size_t columns = 0;
  while (bytes < text.size()) {
    const CellWidth extent = extent_of(text.substr(bytes));
    if (columns + extent.columns > width) break;
    columns += extent.columns;
    bytes += extent.bytes;
  }
  return std::string(text.substr(0, bytes));
}

std::string shortened(std::string_view text, std::size_t width) {
  const std::size_t needed = width_of(text);
  if (needed <= width) return std::string(text);
  constexpr std::size_t kMin = 4;  // with less room an ellipsis is less useful than a letter
  if (width < kMin) return cut(text, width);
  const std::size_t before = width / 2;
  const std::size_t after = width - before - 1;
  const std::string head = cut(text, before);
  // The shortest tail that fits. With a wide character it may be one column too long.
  std::string_view tail = text;
  for (std::size_t columns = needed; columns > after && !tail.empty();) {
    const CellWidth extent = extent_of(tail);
    columns -= extent.columns;
    tail.remove_prefix(extent.bytes);
  }
  while (!tail.empty() && extent_of(tail).columns == 0) tail.remove_prefix(extent_of(tail).bytes);
  return head + "\u2026" + std::string(tail);
}

std::size_t terminal_width() {
  winsize size{};
  if (::isatty(STDOUT_FILENO) == 0 || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

std::string column_name(std::string_view name, std::size_t width) {
  return terminal_width() == 0 ? std::string(name) : shortened(name, width);
}

std::string to_right(std::string_view text, std::size_t width) { return spaces(text, width).append(text); }
std::string to_left(std::string_view text, std::size_t width) { return std::string(text).append(spaces(text, width)); }
std::string to_right(std::uint64_t number, std::size_t width) { return to_right(std::to_string(number), width); }

std::string printable(std::string_view name) {
  std::string text;
  while (!name.empty()) {
    const std::size_t size = std::max<std::size_t>(character_size(name), 1);
    if (const auto hidden = hidden_character(name)) {
      append_escape(text, *hidden);
    } else {
      text += name.substr(0, size);
    }
    name.remove_prefix(size);
  }
  return text;
}

std::string printable_bytes(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const std::size_t size = character_size(bytes);
    text += size == 0 ? "?" : printable(bytes.substr(0, size));
    bytes.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return text;
}

std::string wrapped(std::string_view text, std::string_view indent, std::size_t terminal, std::size_t most) {
  const std::size_t least = indent.size() + 20;
  const std::size_t width = std::max(least, terminal == 0 ? most : std::min(terminal, most));
  std::string out;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    while (line.size() + indent.size() > width) {
      const std::size_t blank = line.rfind(' ', width - indent.size());
      if (blank == std::string_view::npos || blank == 0) break;
      out.append(indent).append(line.substr(0, blank)).append("\n");
      line.remove_prefix(blank + 1);
    }
    out.append(line.empty() ? "" : indent).append(line).append("\n");
  }
  return out;
}

namespace {

/// The column of a row's last text; of a line without columns, its indent.
std::size_t last_column(std::string_view line) {
  const std::size_t blanks = line.rfind("  ");
  return blanks == std::string_view::npos ? 0 : std::min(line.find_first_not_of(' ', blanks), line.size());
}

bool is_indented(std::string_view line, std::size_t indent) { return line.find_first_not_of(' ') == indent; }

}  // namespace

std::string fitted(std::string_view text, std::size_t terminal) {
  if (terminal == 0) return std::string(text);
  constexpr std::size_t kMinColumn = 20;  // of descriptions, whose lines may be joined
  std::string out;
  std::string_view line;
  while (next_line(text, line)) {
    std::size_t column = last_column(line);
    const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
    if (column + kMinColumn > terminal) column = begin;
    std::string words(line.substr(column));
    std::size_t longest = width_of(line);
    std::string_view lines = line;
    for (std::string_view rest = text, next; column >= kMinColumn && next_line(rest, next) && is_indented(next, column);) {
      words.append(" ").append(next.substr(column));
      longest = std::max(longest, width_of(next));
      lines = {lines.data(), static_cast<std::size_t>(next.data() + next.size() - lines.data())};
      text = rest;
    }
    if (longest <= terminal || line.substr(begin).starts_with("memstatctl ")) {
      out.append(lines).append("\n");
    } else {
      out.append(wrapped(words, std::string(column, ' '), terminal).replace(0, column, line.substr(0, column)));
    }
  }
  return out;
}

std::string humanize(std::uint64_t value, Base base, bool has_decimal) {
  const bool is_negative = value >> 63U != 0;
  return (is_negative ? "-" : "") + humanize_magnitude(is_negative ? 0 - value : value, base, has_decimal);
}

std::string did_you_mean(std::string_view word, std::span<const std::string> known, std::string_view sentence) {
  constexpr std::size_t kMax = 3;
  const std::string low = lower_case(word);
  std::vector<std::pair<std::size_t, std::string_view>> near;
  for (const std::string& name : known) {
    const std::size_t distance = edit_distance(word.substr(0, kMaxWord), std::string_view(name).substr(0, kMaxWord));
    const bool contains = word.size() > 2 && lower_case(name).find(low) != std::string::npos;
    // Misspellings come before words that contain this one.
    constexpr std::size_t kContained = 3;
    if (distance <= 1 + word.size() / 4) {
      near.emplace_back(distance, name);
    } else if (contains) {
      near.emplace_back(kContained, name);
    }
  }
  std::sort(near.begin(), near.end());
  near.erase(std::unique(near.begin(), near.end()), near.end());
  if (near.empty()) {
    if (sentence.empty()) return {};
    const bool is_new = sentence[0] >= 'A' && sentence[0] <= 'Z';
    return (is_new ? ". " : "; ") + std::string(sentence);
  }
  if (near.size() > kMax) near.resize(kMax);
  std::string text = "; did you mean ";
  for (std::size_t i = 0; i < near.size(); ++i) {
    text += i == 0 ? "" : i + 1 == near.size() ? " or " : ", ";
    text += printable(near[i].second);
  }
  return text + (sentence.empty() ? "?" : "? ") + std::string(sentence);
}

}  // namespace memstat::ctl
