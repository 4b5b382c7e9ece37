// SPDX-License-Identifier: BSD-2-Clause
// System V IPC of FreeBSD: kern.ipc.shmsegs, kern.ipc.sema and kern.ipc.msqids are the kernel's arrays, a structure for each
// object that there may be (struct shmid_kernel, semid_kernel and msqid_kernel in sys/shm.h, sys/sem.h and sys/msg.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace memstat {

/// What is allocated. Thread safety: a plain value.
struct SysvUse {
  std::uint64_t objects = 0;  ///< Segments, sets or queues.
  std::uint64_t parts = 0;    ///< Semaphores or messages; of segments those that nobody has attached.
  std::uint64_t bytes = 0;    ///< Of segments, or of messages that wait.
};

/// Nothing when the bytes are no such array of a 64-bit kernel, whose structures alone are known.
std::optional<SysvUse> read_shared_segments(std::string_view bytes);
std::optional<SysvUse> read_semaphore_sets(std::string_view bytes);
std::optional<SysvUse> read_message_queues(std::string_view bytes);

}  // namespace memstat
