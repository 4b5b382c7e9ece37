// SPDX-License-Identifier: BSD-2-Clause
// The CPUs and memory nodes of a crashed Linux machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/postmortem/linux/kernel_image.h"

namespace memstat::postmortem {

/// The CPUs and nodes of the crashed machine.
struct LinuxMachine {
  struct Cpu {
    std::uint32_t number = 0;
    std::uint64_t offset = 0;  ///< Added to the address of a per-CPU variable (__per_cpu_offset).
    bool is_online = true;
  };
  std::vector<Cpu> cpus;    ///< Present CPUs, at least one.
  std::uint32_t nodes = 1;  ///< nr_node_ids: the highest node plus one.
  std::string damage;       ///< Unreadable parts, for display; usually "".

  /// "0-3,6"
  [[nodiscard]] std::string cpu_list() const;
};

/// NODES_SHIFT: the width of the node number, which is in the highest bits of the flags of each page and slab. Derived
/// from the size of the node array in struct kmem_cache. 0: unknown, or only one node.
unsigned node_bits(const Btf& types);

/// Reads nr_cpu_ids, __cpu_present_mask, __cpu_online_mask, __per_cpu_offset and nr_node_ids. A kernel built for one
/// CPU and one node lacks all of them.
LinuxMachine read_linux_machine(KernelImage& image);

}  // namespace memstat::postmortem
