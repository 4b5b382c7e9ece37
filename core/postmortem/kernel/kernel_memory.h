// SPDX-License-Identifier: BSD-2-Clause
// A kernel's virtual memory and types, for walks over its lists and structs.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/not_copyable.h"
#include "core/base/result.h"
#include "core/postmortem/kernel/btf.h"

namespace memstat::postmortem {

/// The memory of a crashed kernel, or of the running one.
class KernelMemory : public Interface {
 public:
  [[nodiscard]] virtual const Btf& types() const = 0;

  /// Reads exactly `size` bytes of kernel virtual memory. Errors: kKvmShortRead, kIo.
  virtual Result<void> read(std::uint64_t address, char* to, std::size_t size) = 0;
  /// Reads a NUL-terminated string, truncated to `most` bytes. Errors: those of read().
  Result<std::string> read_string(std::uint64_t address, std::size_t most) {
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
  /// Reads an integer. Errors: those of read().
  template <typename Number>
  Result<Number> read_number(std::uint64_t address) {
    Number number = 0;
    if (auto result = read(address, reinterpret_cast<char*>(&number), sizeof number); !result) return result.error();
    return number;
  }
};

}  // namespace memstat::postmortem
