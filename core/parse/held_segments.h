// SPDX-License-Identifier: BSD-2-Clause
// What System V shared memory segments hold, from /proc/sysvipc/shm (ipc/shm.c, sysvipc_shm_proc_show): a line of names,
// then a line a segment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace memstat {

/// B. Thread safety: a plain value.
struct HeldSegments {
  bool is_known = false;  ///< The kernel has columns nattch, rss and swap.
  std::uint64_t resident = 0;
  std::uint64_t swapped = 0;
  std::uint64_t unattached = 0;        ///< Segments.
  std::uint64_t unattached_bytes = 0;  ///< Of those, resident or swapped.
};

/// Fills `held`. Returns the offset of the first line that lacks a number, or nothing when all is well. Allocates nothing.
std::optional<std::size_t> read_held_segments(std::string_view text, HeldSegments& held);

}  // namespace memstat
