// SPDX-License-Identifier: BSD-2-Clause
// A file, read piece by piece, for the readers of archives.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "core/capture/tar.h"

namespace memstat {

inline constexpr std::size_t kPieceBytes = 128U << 10U;

/// The bytes of a file between two offsets. The descriptor must stay open.
class FilePieces final : public PieceSource {
 public:
  FilePieces(std::string name, int fd, std::uint64_t begin = 0, std::uint64_t end = UINT64_MAX)
      : name_(std::move(name)), fd_(fd), at_(begin), end_(end) {}

  Result<std::string_view> next() override {
    const auto room = static_cast<std::size_t>(std::min<std::uint64_t>(buffer_.size(), end_ - at_));
    ssize_t size = 0;
    do size = ::pread(fd_, buffer_.data(), room, static_cast<off_t>(at_));
    while (size < 0 && errno == EINTR);
    if (size < 0) return system_error(name_, errno);
    at_ += static_cast<std::uint64_t>(size);
    return std::string_view(buffer_.data(), static_cast<std::size_t>(size));
  }
  /// The offset after the last piece.
  [[nodiscard]] std::uint64_t offset() const { return at_; }

 private:
  const std::string name_;
  const int fd_;
  std::uint64_t at_;
  const std::uint64_t end_;
  std::vector<char> buffer_ = std::vector<char>(kPieceBytes);
};

}  // namespace memstat
