// SPDX-License-Identifier: BSD-2-Clause
// System V IPC. Linux: what shared memory segments hold, from /proc/sysvipc/shm (ipc/shm.c, sysvipc_shm_proc_show), a line
// of names, then a line per segment. FreeBSD: kern.ipc.shmsegs, kern.ipc.sema and kern.ipc.msqids are the kernel's arrays, a
// structure for each possible object (struct shmid_kernel, semid_kernel and msqid_kernel in sys/shm.h, sys/sem.h and
// sys/msg.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace memstat {

/// B.
struct HeldSegments {
  bool is_known = false;  ///< The kernel has columns nattch, rss and swap.
  std::uint64_t resident = 0;
  std::uint64_t swapped = 0;
  std::uint64_t unattached = 0;        ///< Segments.
  std::uint64_t unattached_bytes = 0;  ///< Of those, resident or swapped.
};

/// Fills `held`. Returns the offset of the first line that lacks a number, or nothing when all is well. Allocates nothing.
std::optional<std::size_t> read_held_segments(std::string_view text, HeldSegments& held);

/// What is allocated.
struct SysvUse {
  std::uint64_t objects = 0;  ///< Segments, sets or queues.
  std::uint64_t parts = 0;    ///< Semaphores or messages; of segments those that nobody has attached.
  std::uint64_t bytes = 0;    ///< Of segments, or of messages that wait.
};

/// Nothing if the bytes are not such an array of a 64-bit kernel; only its structures are known.
std::optional<SysvUse> read_shared_segments(std::string_view bytes);
std::optional<SysvUse> read_semaphore_sets(std::string_view bytes);
std::optional<SysvUse> read_message_queues(std::string_view bytes);

}  // namespace memstat
