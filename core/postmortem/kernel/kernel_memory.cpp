// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/kernel/kernel_memory.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace memstat::postmortem {

Result<std::string> KernelMemory::read_string(std::uint64_t address, std::size_t most) {
  constexpr std::uint64_t kPiece = 64;
  std::string text;
  while (text.size() < most) {
    std::array<char, kPiece> piece;  // never crosses a page boundary: the next page may be unmapped
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(kPiece - address % kPiece, most - text.size()));
    if (auto result = read(address, piece.data(), wanted); !result) return result.error();
    const std::string_view got(piece.data(), wanted);
    const std::size_t end = got.find('\0');
    text += got.substr(0, end);
    if (end != std::string_view::npos) break;
    address += wanted;
  }
  return text;
}

}  // namespace memstat::postmortem
