// SPDX-License-Identifier: BSD-2-Clause
// What a Linux kernel that stopped would have answered: its files, written as the kernel writes them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/capture/files.h"
#include "core/postmortem/linux/kernel_image.h"
#include "core/postmortem/linux/slab.h"

namespace memstat::postmortem {

/// /proc/slabinfo as slabinfo_show of mm/slab_common.c prints it: objects that lie free on CPUs count as used.
std::string slabinfo_text(const std::vector<SlabCache>& caches);

/// A capture of one poll with the files of the kernel in the dump:
///   /proc/slabinfo
///   /sys/kernel/slab/CACHE/{object_size,slab_size,order,objs_per_slab,slabs,total_objects,objects,partial,objects_partial,
///   cpu_slabs}, each by node as well
///   /proc/vmstat, /proc/zoneinfo, /proc/buddyinfo, /proc/meminfo, /proc/vmallocinfo, where the kernel has what is in them
/// Its time is that of the crash (CRASHTIME of VMCOREINFO), else of the last change to the dump. `notes` gets a line for
/// each thing that is damaged, at most 1000. Errors: those of walk_slab_caches.
Result<std::unique_ptr<MemoryFiles>> make_linux_files(KernelImage& image, std::vector<std::string>& notes);

}  // namespace memstat::postmortem
