// SPDX-License-Identifier: BSD-2-Clause
// The NUMA node of a physical address, from what a Linux kernel reports about its memory.
#pragma once

#include <cstdint>

#include "core/kernel/kernel_view.h"

namespace memstat {

struct MemoryBlock {
  std::uint32_t node = 0;
  std::uint64_t first = 0;  ///< First address of the memory block, or of the zone if the kernel reports no blocks.
  std::uint64_t last = 0;   ///< Last address, inclusive.
  bool is_block = false;    ///< A memory block; otherwise a zone, which may have holes.
  bool is_online = false;   ///< False: the kernel does not currently use this memory.
};

/// Uses /sys/devices/system/memory (drivers/base/memory.c, CONFIG_MEMORY_HOTPLUG): a directory memoryN for the Nth block of
/// block_size_bytes, with its state and a link to each node with memory in it. Without such a directory, without a link (no
/// CONFIG_NUMA), or with several links, the zones of /proc/zoneinfo decide: an address within zones of only one node belongs
/// to that node. Errors: kNotPresent for an address without memory, or whose node the kernel does not report; kData for
/// malformed files; those of the view.
Result<MemoryBlock> find_memory_block(KernelView& view, std::uint64_t address);

}  // namespace memstat
