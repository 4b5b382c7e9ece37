// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/cells.h"

#include <algorithm>

namespace memstat::ctl {
namespace {

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

std::string spaces(std::string_view text, std::size_t width) {
  const std::size_t used = width_of(text);
  return std::string(used < width ? width - used : 0, ' ');
}

/// B of the character that `text` begins with; 0: it begins with none that UTF-8 has.
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

}  // namespace

std::size_t width_of(std::string_view text) {
  return text.size() - static_cast<std::size_t>(std::count_if(text.begin(), text.end(), continues_character));
}

std::string to_right(std::string_view text, std::size_t width) { return spaces(text, width).append(text); }
std::string to_left(std::string_view text, std::size_t width) { return std::string(text).append(spaces(text, width)); }
std::string to_right(std::uint64_t number, std::size_t width) { return to_right(std::to_string(number), width); }

std::string printable(std::string_view name) {
  std::string text;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const auto byte = static_cast<unsigned char>(name[i]);
    // U+0080 to U+009F are control characters too; in UTF-8 they are C2 80 to C2 9F.
    const bool is_c1 = byte == 0xC2U && i + 1 < name.size() && static_cast<unsigned char>(name[i + 1]) < 0xA0U;
    text += byte < 0x20U || byte == 0x7FU || is_c1 ? '?' : name[i];
    if (is_c1) ++i;
  }
  return text;
}

std::string printable_bytes(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const std::size_t size = character_size(bytes);
    text += size == 0 ? "?" : bytes.substr(0, size);
    bytes.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return printable(text);
}

}  // namespace memstat::ctl
