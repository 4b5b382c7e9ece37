// SPDX-License-Identifier: BSD-2-Clause
// The CPUs and memory domains of a FreeBSD kernel in a dump, and the location of per-CPU data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/postmortem/freebsd/image.h"

namespace memstat::postmortem {

/// CPUs and memory of the dumped machine.
struct FreeBsdMachine {
  std::vector<std::uint32_t> cpus;           ///< CPU numbers in all_cpus, ascending; never empty.
  std::uint32_t cpu_slots = 1;               ///< mp_maxid + 1.
  std::vector<std::uint32_t> domains = {0};  ///< Numbers from 0 to vm_ndomains - 1.
  std::uint64_t page_bytes = 4096;           ///< Also the distance between the per-CPU areas of two CPUs.
  /// Added to the kernel's per-CPU pointers; on amd64 they are offsets from the array of struct pcpu.
  std::uint64_t per_cpu_base = 0;
  /// The target of counters that the kernel has not initialized yet; 0: unknown.
  std::uint64_t early_counter = 0;
  std::string damage;  ///< For display; usually "".

  /// The address of a CPU's copy of a per-CPU variable.
  [[nodiscard]] std::uint64_t copy_of(std::uint64_t pointer, std::uint32_t cpu) const {
    return pointer + per_cpu_base + cpu * page_bytes;
  }
};

FreeBsdMachine read_freebsd_machine(FreeBsdKernel& kernel);

/// Sums a counter(9) over all CPUs; 0 if it is not initialized yet. Errors: those of KernelMemory::read.
Result<std::uint64_t> read_counter(FreeBsdKernel& kernel, const FreeBsdMachine& machine, std::uint64_t pointer);

}  // namespace memstat::postmortem
