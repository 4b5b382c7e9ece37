// SPDX-License-Identifier: BSD-2-Clause
// The memory of one process, from Linux's /proc/PID/statm (fs/proc/array.c, proc_pid_statm): one line of pages,
//
//   SIZE RESIDENT SHARED TEXT LIB DATA DIRTY
//
// of which LIB and DIRTY are 0 since 2.6. All are 0 for threads of the kernel and for zombies, which have no memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace memstat {

/// Thread safety: a plain value.
struct ProcessMemory {
  std::uint64_t size = 0;      ///< B of address space, memory or not.
  std::uint64_t resident = 0;  ///< B in memory now; shared pages count in full for each process.
  std::uint64_t shared = 0;    ///< B of `resident` that belong to files or to shared memory, shared or not.
  std::uint64_t text = 0;      ///< B of address space of the program's code, without its libraries.
  std::uint64_t data = 0;      ///< B of address space for data and stack.
};

/// Nothing when `text` does not begin with six numbers, or when one is more than 64 bits as bytes. What a kernel adds behind
/// them is passed over.
std::optional<ProcessMemory> parse_statm(std::string_view text, std::uint64_t page_size);

/// A process without memory: a thread of the kernel, or a zombie.
inline bool is_without_memory(const ProcessMemory& memory) { return memory.size == 0; }

}  // namespace memstat
