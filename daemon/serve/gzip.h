// SPDX-License-Identifier: BSD-2-Clause
// gzip of a page with ISA-L; daemon/README.md has the measurements. Only gzip.cpp uses ISA-L.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/mutex.h"
#include "core/base/not_copyable.h"

namespace memstat {

/// A part of a gzip member: deflate blocks that end on a byte boundary and refer to nothing before them, so that parts made
/// at different times can be concatenated. A member is gzip_header(), parts, and the output of append_gzip_end().
struct GzipPart {
  Buffer bytes;            ///< The compressed blocks; none is marked as the last.
  std::uint32_t crc = 0;   ///< CRC-32 of this part's uncompressed bytes.
  std::uint64_t size = 0;  ///< Number of uncompressed bytes.
};

/// The 10-byte header of a member. Static.
[[nodiscard]] std::string_view gzip_header();

/// Extends the CRC-32 `before` by `bytes`. `before` is 0 at the beginning.
[[nodiscard]] std::uint32_t gzip_crc(std::uint32_t before, std::string_view bytes);

/// Appends `last` uncompressed (at most 65535 bytes), as the last block of a member, and the member's trailer. `crc` and
/// `size` are those of all uncompressed bytes before `last`.
void append_gzip_end(std::string& out, std::string_view last, std::uint32_t crc, std::uint64_t size);

/// Whether this program was built with gzip. If not, all responses must be uncompressed.
[[nodiscard]] bool can_gzip();

/// Compresses pages. Keeps its states (365 KB each) for reuse, as many as there were concurrent calls; only one if each page
/// is compressed under its cache's lock. Thread safety: safe.
class GzipCompressor : NotCopyable {
 public:
  GzipCompressor();
  ~GzipCompressor();

  /// Replaces `out` with the gzip of `plain`, as one member. Equal bytes give equal output (no time stamp). `out` must not
  /// be `plain`. Returns false, with `out` empty, only if can_gzip() is false. Allocates nothing in the steady state,
  /// otherwise may throw std::bad_alloc.
  bool compress(std::string_view plain, Buffer& out);
  /// Replaces `part` with `plain`, compressed as a part of a member. Returns false, with `part` empty, only if can_gzip() is
  /// false. Allocates nothing in the steady state, otherwise may throw std::bad_alloc.
  bool compress_part(std::string_view plain, GzipPart& part);

 private:
  void deflate(std::string_view plain, Buffer& out);
  struct State;
  class Borrowed;
  Mutex mutex_;
  std::vector<std::unique_ptr<State>> idle_ MEMSTAT_GUARDED_BY(mutex_);
  std::size_t states_ MEMSTAT_GUARDED_BY(mutex_) = 0;  // idle or in use
};

}  // namespace memstat
