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

}  // namespace memstat::ctl
