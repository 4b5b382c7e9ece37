// SPDX-License-Identifier: BSD-2-Clause
// gzip of a page, by ISA-L; daemon/README.md has the figures that chose it. compression.cpp is the only file that knows it.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/buffer.h"

namespace memstat {

/// Whether this program was built with gzip. Without it, answer every request with identity. Thread safety: safe.
[[nodiscard]] bool can_gzip();

/// Compresses pages. Its states (365 KB each) are kept and used again, as many as there were calls at once: one, where
/// a page is compressed under its cache's lock. Thread safety: safe.
class GzipCompressor {
 public:
  GzipCompressor();
  ~GzipCompressor();
  GzipCompressor(const GzipCompressor&) = delete;
  GzipCompressor& operator=(const GzipCompressor&) = delete;

  /// Replaces `out` with the gzip of `pieces` in order, as one member: curl fails on a second one and browsers drop it,
  /// though the format permits it. Equal bytes, cut in the same pieces, give equal output (no time stamp). `out` may not be
  /// among the pieces. False, with `out` empty, only where can_gzip() is false. Steady state: no allocation; else
  /// std::bad_alloc may be thrown.
  bool compress(std::span<const std::string_view> pieces, Buffer& out);

 private:
  struct State;
  class Borrowed;
  std::mutex mutex_;
  std::vector<std::unique_ptr<State>> idle_;
  std::size_t states_ = 0;  // idle or at work
};

}  // namespace memstat
