// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/cells.h"

#include <algorithm>
#include <cstdint>

namespace memstat::ctl {
namespace {

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

std::string spaces(std::string_view text, std::size_t width) {
  const std::size_t used = width_of(text);
  return std::string(used < width ? width - used : 0, ' ');
}

void append_escape(std::string& text, std::uint32_t character) {
  constexpr std::string_view kHex = "0123456789abcdef";
  const bool is_ascii = character < 0x80U;
  text += is_ascii ? "\\x" : "\\u";
  const std::uint32_t high = is_ascii ? 4 : character > 0xFFFFU ? 20 : 12;
  for (std::uint32_t shift = high + 4; shift != 0; shift -= 4) text += kHex[character >> (shift - 4) & 15U];
}

}  // namespace

std::size_t character_size(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80U) return 1;
  const std::size_t size = byte(0) >= 0xF0U ? 4 : byte(0) >= 0xE0U ? 3 : 2;
  if (byte(0) < 0xC2U || byte(0) > 0xF4U || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if (!continues_character(text[i])) return 0;
  }
  // Longer than need be, halves of UTF-16, beyond Unicode.
  const bool is_wrong = (byte(0) == 0xE0U && byte(1) < 0xA0U) || (byte(0) == 0xEDU && byte(1) > 0x9FU) ||
                        (byte(0) == 0xF0U && byte(1) < 0x90U) || (byte(0) == 0xF4U && byte(1) > 0x8FU);
  return is_wrong ? 0 : size;
}

std::size_t width_of(std::string_view text) {
  return text.size() - static_cast<std::size_t>(std::count_if(text.begin(), text.end(), continues_character));
}

std::string to_right(std::string_view text, std::size_t width) { return spaces(text, width).append(text); }
std::string to_left(std::string_view text, std::size_t width) { return std::string(text).append(spaces(text, width)); }
std::string to_right(std::uint64_t number, std::size_t width) { return to_right(std::to_string(number), width); }

std::optional<std::uint32_t> hidden_character(std::string_view text) {
  const std::size_t size = std::max<std::size_t>(character_size(text), 1);
  const auto byte = [text](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  std::uint32_t character = size == 1 ? byte(0) : byte(0) & (0xFFU >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) character = character << 6U | (byte(i) & 0x3FU);
  struct Range {
    std::uint32_t first, last;
  };
  // Controls; what joins, parts or hides letters; what turns the direction of what follows; ends of lines and paragraphs;
  // variation selectors and tags.
  static constexpr Range kHidden[] = {
      {0x00, 0x1F},     {0x7F, 0x9F},     {0xAD, 0xAD},     {0x34F, 0x34F},   {0x61C, 0x61C},    {0x115F, 0x1160},
      {0x17B4, 0x17B5}, {0x180B, 0x180F}, {0x200B, 0x200F}, {0x2028, 0x202E}, {0x2060, 0x206F},  {0x3164, 0x3164},
      {0xFE00, 0xFE0F}, {0xFEFF, 0xFEFF}, {0xFFA0, 0xFFA0}, {0xFFF0, 0xFFFB}, {0xE0000, 0xE0FFF}};
  for (const Range& range : kHidden) {
    if (character >= range.first && character <= range.last) return character;
  }
  return std::nullopt;
}

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

std::string table_text(const std::vector<TableRow>& rows, std::size_t left) {
  std::vector<std::size_t> widths(rows.empty() ? 0 : rows[0].size());
  for (const TableRow& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string text;
  for (const TableRow& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += i == 0 ? "" : "  ";
      text += i < left ? to_left(row[i], widths[i]) : to_right(row[i], widths[i]);
    }
    text += '\n';
  }
  return text;
}

std::string table_csv(const std::vector<TableRow>& rows) {
  std::string text;
  for (const TableRow& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += i == 0 ? "" : ",";
      if (row[i] == "-") continue;
      if (row[i].find_first_of(",\"\r\n") == std::string::npos) {
        text += row[i];
        continue;
      }
      text += '"';
      for (const char c : row[i]) text.append(c == '"' ? 2 : 1, c);
      text += '"';
    }
    text += '\n';
  }
  return text;
}

}  // namespace memstat::ctl
