// SPDX-License-Identifier: BSD-2-Clause
// The sysctls of a crashed FreeBSD kernel, byte for byte.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/capture/files.h"
#include "core/kernel/open_view.h"
#include "core/postmortem/freebsd/image.h"

namespace memstat::postmortem {

/// A capture with one poll of the dumped kernel's sysctls:
///   kern.malloc_stats, kern.malloc_count, vm.malloc.zone_sizes, vm.malloc.zone_count
///   vm.zone_stats, vm.zone_count, kern.smp.maxid, kern.smp.maxcpus, hw.pagesize, vm.ndomains
///   vm.stats.vm, vm.domain, vm.uma_kmem_total, if the kernel has the data
/// Streams have a block for each CPU up to the highest, not for the maximum that the kernel was built for. The poll's time
/// is the time of the crash (time_second), or the dump's modification time. `notes` gets a line for each kind of damage, at
/// most 1000. Errors: those of read_malloc_stream and read_zone_stream, if both fail, and those of `needs`.
Result<std::unique_ptr<MemoryFiles>> make_freebsd_files(FreeBsdKernel& kernel, std::vector<std::string>& notes,
                                                        KvmNeeds needs = {});

}  // namespace memstat::postmortem
