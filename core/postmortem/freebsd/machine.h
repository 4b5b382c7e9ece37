// SPDX-License-Identifier: BSD-2-Clause
// The CPUs and memory domains of a FreeBSD kernel in a dump, and where it keeps what each CPU has of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/postmortem/freebsd/image.h"

namespace memstat::postmortem {

/// Thread safety: a plain value.
struct FreeBsdMachine {
  std::vector<std::uint32_t> cpus;  ///< Numbers of all_cpus, ascending; never empty.
  std::uint32_t cpu_slots = 1;      ///< mp_maxid + 1.
  std::uint32_t domains = 1;        ///< vm_ndomains.
  std::uint64_t page_bytes = 4096;  ///< What each CPU has of its own lies a page from the next CPU's.
  /// Added to the kernel's pointers to what each CPU has: on amd64 they count from the array of struct pcpu.
  std::uint64_t per_cpu_base = 0;
  /// What counters point to before the kernel has set them up; 0 when it is not known.
  std::uint64_t early_counter = 0;
  std::string damage;  ///< For people; "" as a rule.

  /// The address of a CPU's copy of what a kernel's pointer names.
  [[nodiscard]] std::uint64_t copy_of(std::uint64_t pointer, std::uint32_t cpu) const {
    return pointer + per_cpu_base + cpu * page_bytes;
  }
  /// "0-3,6"
  [[nodiscard]] std::string cpu_list() const;
};

FreeBsdMachine read_freebsd_machine(FreeBsdKernel& kernel);

/// The value of a counter(9): the sum over all CPUs; 0 of one that is not set up yet. Errors: those of KernelMemory::read.
Result<std::uint64_t> read_counter(FreeBsdKernel& kernel, const FreeBsdMachine& machine, std::uint64_t pointer);

}  // namespace memstat::postmortem
