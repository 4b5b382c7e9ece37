// SPDX-License-Identifier: BSD-2-Clause
// What a FreeBSD kernel that stopped would have answered: its sysctls, byte for byte.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/capture/files.h"
#include "core/kernel/open_view.h"
#include "core/postmortem/freebsd/image.h"

namespace memstat::postmortem {

/// A capture of one poll with the sysctls of the kernel in the dump:
///   kern.malloc_stats, kern.malloc_count, vm.malloc.zone_sizes, vm.malloc.zone_count
///   vm.zone_stats, vm.zone_count, kern.smp.maxid, kern.smp.maxcpus, hw.pagesize, vm.ndomains
///   vm.stats.vm, vm.domain, vm.uma_kmem_total, where the kernel has what is in them
/// Streams have a block for each CPU up to the highest, not for each that the kernel was built for. Its time is that of the
/// crash (time_second), else of the last change to the dump. `notes` gets a line for each thing that is damaged, at most
/// 1000. Errors: those of read_malloc_stream and read_zone_stream, when neither can be read, and of those that are needed.
Result<std::unique_ptr<MemoryFiles>> make_freebsd_files(FreeBsdKernel& kernel, std::vector<std::string>& notes,
                                                        KvmNeeds needs = {});

}  // namespace memstat::postmortem
