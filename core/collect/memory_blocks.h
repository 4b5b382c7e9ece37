// SPDX-License-Identifier: BSD-2-Clause
// Which NUMA node a physical address lies in, from what a Linux kernel reports of its memory.
#pragma once

#include <cstdint>

#include "core/kernel/kernel_view.h"

namespace memstat {

/// Where an address lies. Thread safety: a plain value.
struct MemoryBlock {
  std::uint32_t node = 0;
  std::uint64_t first = 0;  ///< First address of the block of memory, or of the zone where the kernel reports no blocks.
  std::uint64_t last = 0;   ///< Its last address.
  bool is_block = false;    ///< It is a block, and not a zone, which may have holes.
  bool is_online = false;   ///< False: the kernel does not use this memory now.
};

/// Looks in /sys/devices/system/memory (drivers/base/memory.c; kernels with CONFIG_MEMORY_HOTPLUG): a directory memoryN for
/// the Nth block of block_size_bytes, with its state and a link to each node that has memory in it. Where there is no such
/// link (kernels without CONFIG_NUMA), more than one, or no such directory, the zones of /proc/zoneinfo decide: an address
/// that lies between begin and end of zones of one node only is that node's. Errors: kNotPresent for an address that is no
/// memory, and for one whose node this kernel does not report, kData for files that make no sense, and those of the view.
/// Thread safety: that of the view.
Result<MemoryBlock> find_memory_block(KernelView& view, std::uint64_t address);

}  // namespace memstat
