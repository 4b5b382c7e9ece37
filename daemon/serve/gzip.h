// SPDX-License-Identifier: BSD-2-Clause
// gzip of a page, by ISA-L; daemon/README.md has the figures that chose it. gzip.cpp is the only file that knows it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/mutex.h"

namespace memstat {

/// A part of a gzip member: deflate blocks that end on a byte and refer to nothing before them, so that parts which were
/// made at different times can follow each other. A member is gzip_header(), parts, and what append_gzip_end() writes.
struct GzipPart {
  Buffer bytes;            ///< The compressed blocks; none of them says that it is the last.
  std::uint32_t crc = 0;   ///< CRC-32 of the plain bytes of this part alone.
  std::uint64_t size = 0;  ///< How many plain bytes they are.
};

/// The 10 bytes that a member begins with. Static.
[[nodiscard]] std::string_view gzip_header();

/// The CRC-32 of what came before and `bytes`. `before` is 0 at the beginning.
[[nodiscard]] std::uint32_t gzip_crc(std::uint32_t before, std::string_view bytes);

/// Appends `last`, uncompressed (at most 65535 bytes), as the last block of a member, and the member's trailer. `crc` and
/// `size` are those of all plain bytes before `last`.
void append_gzip_end(std::string& out, std::string_view last, std::uint32_t crc, std::uint64_t size);

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

  /// Replaces `part` with `plain` as a part of a member. False, with `part` empty, only where can_gzip() is false. Steady
  /// state: no allocation; else std::bad_alloc may be thrown.
  bool compress_part(std::string_view plain, GzipPart& part);

 private:
  struct State;
  class Borrowed;
  Mutex mutex_;
  std::vector<std::unique_ptr<State>> idle_ MEMSTAT_GUARDED_BY(mutex_);
  std::size_t states_ MEMSTAT_GUARDED_BY(mutex_) = 0;  // idle or at work
};

}  // namespace memstat
