// SPDX-License-Identifier: BSD-2-Clause
// The CPUs and memory nodes of a Linux machine that stopped.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/postmortem/linux/kernel_image.h"

namespace memstat::postmortem {

/// What was there when the kernel stopped. Thread safety: a plain value.
struct LinuxMachine {
  struct Cpu {
    std::uint32_t number = 0;
    std::uint64_t offset = 0;  ///< What is added to the address of a per-CPU variable (__per_cpu_offset).
    bool is_online = true;
  };
  std::vector<Cpu> cpus;    ///< Those present, at least one.
  std::uint32_t nodes = 1;  ///< nr_node_ids: one more than the highest node.
  std::string damage;       ///< What could not be read, for people; "" as a rule.

  /// "0-3,6"
  [[nodiscard]] std::string cpu_list() const;
};

/// Nodes are numbered in the highest bits of the flags of each page and slab: in how many (NODES_SHIFT), as the array of
/// nodes that each slab cache has says. 0: not known, or there is one node.
unsigned node_bits(const Btf& types);

/// Reads nr_cpu_ids, __cpu_present_mask, __cpu_online_mask, __per_cpu_offset and nr_node_ids. A kernel for one CPU or one
/// node has none of them.
LinuxMachine read_linux_machine(KernelImage& image);

}  // namespace memstat::postmortem
