// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <string_view>

#include "core/capture/tar.h"

namespace memstat {

/// Bytes in pieces of one size.
class Pieces final : public PieceSource {
 public:
  Pieces(std::string_view bytes, std::size_t size) : rest_(bytes), size_(size) {}
  Result<std::string_view> next() override {
    const std::string_view piece = rest_.substr(0, size_);
    rest_.remove_prefix(piece.size());
    return piece;
  }

 private:
  std::string_view rest_;
  std::size_t size_;
};

}  // namespace memstat
