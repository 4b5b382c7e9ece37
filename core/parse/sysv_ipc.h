// SPDX-License-Identifier: BSD-2-Clause
// System V IPC. Linux: the memory of shared memory segments, from /proc/sysvipc/shm (ipc/shm.c, sysvipc_shm_proc_show),
// which has a header line and a line per segment. FreeBSD: kern.ipc.shmsegs, kern.ipc.sema and kern.ipc.msqids are the
// kernel's arrays, with a structure for each possible object (struct shmid_kernel, semid_kernel and msqid_kernel in
// sys/shm.h, sys/sem.h and sys/msg.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace memstat {

/// Amounts are in bytes.
struct HeldSegments {
  bool is_known = false;  ///< the kernel has the columns nattch, rss and swap
  std::uint64_t resident = 0;
  std::uint64_t swapped = 0;
  std::uint64_t unattached = 0;        ///< number of segments that no process has attached
  std::uint64_t unattached_bytes = 0;  ///< their memory, resident or swapped
};

/// Fills `held`. Returns the offset of the first line that lacks a number; nothing on success. Allocates nothing.
std::optional<std::size_t> read_held_segments(std::string_view text, HeldSegments& held);

/// Allocated objects.
struct SysvUse {
  std::uint64_t objects = 0;  ///< segments, sets or queues
  std::uint64_t parts = 0;    ///< semaphores, messages, or segments that no process has attached
  std::uint64_t bytes = 0;    ///< size of segments, or of queued messages
};

/// A segment that no process has attached.
struct LeftSegment {
  std::uint32_t id = 0;  ///< As ipcs(1) prints it.
  std::uint32_t uid = 0;
  std::uint32_t creator = 0;  ///< The process, which may have ended.
  std::uint64_t bytes = 0;
};

/// Nothing if the bytes are not such an array of a 64-bit kernel; only its structures are known.
std::optional<SysvUse> read_shared_segments(std::string_view bytes);
std::optional<SysvUse> read_semaphore_sets(std::string_view bytes);
std::optional<SysvUse> read_message_queues(std::string_view bytes);
std::optional<std::vector<LeftSegment>> read_left_segments(std::string_view bytes);

}  // namespace memstat
