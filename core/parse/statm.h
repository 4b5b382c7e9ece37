// SPDX-License-Identifier: BSD-2-Clause
// Memory of one process from Linux's /proc/PID/statm (fs/proc/array.c, proc_pid_statm): one line, in pages,
//
//   SIZE RESIDENT SHARED TEXT LIB DATA DIRTY
//
// where LIB and DIRTY have been 0 since 2.6. All are 0 for kernel threads and zombies, which have no memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace memstat {

struct ProcessMemory {
  std::uint64_t size = 0;      ///< address space, whether backed by memory or not
  std::uint64_t resident = 0;  ///< memory in use; shared pages count fully for each process
  std::uint64_t shared = 0;    ///< part of `resident` backed by files or shared memory, even if no other process uses it
  std::uint64_t text = 0;      ///< address space for the program's code, without libraries
  std::uint64_t data = 0;      ///< address space for data and stack
};

/// Nothing if `text` does not begin with six numbers, or if one overflows 64 bits in bytes. Ignores additional columns.
std::optional<ProcessMemory> parse_statm(std::string_view text, std::uint64_t page_size);

}  // namespace memstat
