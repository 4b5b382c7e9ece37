// SPDX-License-Identifier: BSD-2-Clause
// Two loops that read a whole kernel file. The system call is a parameter, so that tests can read 16 bytes at a time.
// `Read` behaves like read(2): `long read(char* to, std::size_t room)` returns the bytes stored, 0 at the end, or -1
// with errno.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <new>
#include <string>
#include <string_view>

#include "core/base/buffer.h"
#include "core/base/result.h"

namespace memstat {

/// Sizes for reading a file, in bytes. Only the last may be 0.
struct ReadLimits {
  std::size_t first_capacity = 64UL << 10;  ///< Initial capacity of an empty buffer.
  std::size_t max_chunk = 1UL << 20;        ///< Maximum size of a read call.
  std::size_t max_bytes = 1UL << 30;        ///< A longer file is kData: no kernel file is that long.
  std::size_t whole_below = 0;  ///< A read of fewer bytes is the whole file. 0: only an empty read marks the end.
};

inline Error too_long_error(std::string_view path, std::size_t max_bytes) {
  return data_error(path, max_bytes, "longer than " + std::to_string(max_bytes) + " bytes; kernel files are shorter");
}

/// Reads to the end of the file: a read of a seq_file returns at most 4 KiB, whatever the buffer. Does not allocate if
/// `out` is large enough. Errors: system_error of the read, kData above max_bytes, kNoMemory.
template <typename Read>
Result<void> read_all(std::string_view path, Buffer& out, const ReadLimits& limits, Read&& read) {
  out.clear();
  try {
    while (true) {
      if (out.size() > limits.max_bytes) return too_long_error(path, limits.max_bytes);
      if (out.size() == out.capacity()) out.reserve(std::max(limits.first_capacity, out.capacity() * 2));
      const std::size_t room = std::min(out.capacity() - out.size(), limits.max_chunk);
      const long count = read(out.data() + out.size(), room);
      if (count == 0) return {};
      if (count > 0) {
        out.resize(out.size() + static_cast<std::size_t>(count));
        if (static_cast<std::size_t>(count) < std::min(room, limits.whole_below)) return {};
      } else if (errno != EINTR) {
        return system_error(path, errno);
      }
    }
  } catch (const std::bad_alloc&) {
    return no_memory_error(path, "no memory for " + std::to_string(out.size()) + " bytes and more");
  }
}

/// Reads a file that returns everything, possibly truncated, in the first read and nothing in a second (/proc/sys:
/// integer vectors end after one read even if it was too small). Requests little at first, because the kernel clears
/// the requested size; starts again at offset 0 with more room if the buffer was filled. `Read` is always called for
/// offset 0. Errors: as read_all; kData above 1 MiB.
template <typename Read>
Result<void> read_in_one(std::string_view path, Buffer& out, Read&& read) {
  constexpr std::size_t kFirst = 256;
  constexpr std::size_t kMax = 1UL << 20;
  out.clear();
  try {
    for (std::size_t room = kFirst; room <= kMax; room *= 8) {
      out.reserve(room);
      long count = 0;
      do {
        count = read(out.data(), room);
      } while (count < 0 && errno == EINTR);
      if (count < 0) return system_error(path, errno);
      if (static_cast<std::size_t>(count) < room) {
        out.resize(static_cast<std::size_t>(count));
        return {};
      }
    }
  } catch (const std::bad_alloc&) {
    return no_memory_error(path);
  }
  return too_long_error(path, kMax);
}

}  // namespace memstat
