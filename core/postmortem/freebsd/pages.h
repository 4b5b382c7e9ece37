// SPDX-License-Identifier: BSD-2-Clause
// The page allocator of a FreeBSD kernel in a dump, as the values of its integer sysctls.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/postmortem/freebsd/image.h"
#include "core/postmortem/freebsd/machine.h"

namespace memstat::postmortem {

/// Page statistics as sysctls.
struct FreeBsdPages {
  std::vector<std::pair<std::string, std::uint64_t>> sysctls;  ///< Names and values of those that the kernel has.
  std::string damage;                                          ///< For display; usually "".
};

/// Reads vm.stats.vm.v_* from vm_cnt, vm.domain.N.stats from vm_dom, and vm.uma_kmem_total.
FreeBsdPages read_freebsd_pages(FreeBsdKernel& kernel, const FreeBsdMachine& machine);

}  // namespace memstat::postmortem
