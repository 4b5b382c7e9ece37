// SPDX-License-Identifier: BSD-2-Clause
#include "core/base/utf8.h"

#include <algorithm>

namespace memstat {

std::size_t character_size(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto continues = [&](std::size_t i) { return i < text.size() && (byte(i) & 0xC0U) == 0x80U; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return continues(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if (!continues(1) || !continues(2)) return 0;
    if (first == 0xE0 && byte(1) < 0xA0) return 0;
    if (first == 0xED && byte(1) > 0x9F) return 0;
    return 3;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if (!continues(1) || !continues(2) || !continues(3)) return 0;
    if (first == 0xF0 && byte(1) < 0x90) return 0;
    if (first == 0xF4 && byte(1) > 0x8F) return 0;
    return 4;
  }
  return 0;
}

std::string_view utf8_prefix(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  // A character has at most three bytes after its first, also if the text is invalid.
  for (int i = 0; i < 3 && most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0U) == 0x80U; ++i) --most;
  return text.substr(0, most);
}

std::uint32_t first_character(std::string_view text) {
  const std::size_t size = std::max<std::size_t>(character_size(text), 1);
  const auto byte = [text](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  std::uint32_t character = size == 1 ? byte(0) : byte(0) & (0xFFU >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) character = character << 6U | (byte(i) & 0x3FU);
  return character;
}

std::optional<std::uint32_t> hidden_character(std::string_view text) {
  const std::uint32_t character = first_character(text);
  struct Range {
    std::uint32_t first, last;
  };
  // Control characters, joiners, separators and zero-width characters, direction changes, line and paragraph separators,
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

void append_hex(std::string& text, std::uint32_t value, std::uint32_t digits) {
  constexpr std::string_view kHex = "0123456789abcdef";
  for (std::uint32_t shift = 4 * digits; shift != 0; shift -= 4) text += kHex[value >> (shift - 4) & 15U];
}

}  // namespace memstat
