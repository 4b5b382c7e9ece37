// SPDX-License-Identifier: BSD-2-Clause
// The files of a crashed Linux kernel, in the kernel's own format.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/capture/files.h"
#include "core/postmortem/linux/kernel_image.h"
#include "core/postmortem/linux/slab.h"

namespace memstat::postmortem {

/// /proc/slabinfo as printed by slabinfo_show() in mm/slab_common.c: free objects on CPUs count as used.
std::string slabinfo_text(const std::vector<SlabCache>& caches);

/// A capture with one poll of the dumped kernel's files:
///   /proc/slabinfo
///   /sys/kernel/slab/CACHE/{object_size,slab_size,order,objs_per_slab,slabs,total_objects,objects,partial,objects_partial,
///   cpu_slabs}, with their figures by node
///   /proc/vmstat, /proc/zoneinfo, /proc/buddyinfo, /proc/meminfo, /proc/vmallocinfo, if the kernel has the data
/// The poll's time is the time of the crash (CRASHTIME in VMCOREINFO), or the dump's modification time. `notes` gets a line
/// for each kind of damage, at most 1000. Errors: those of walk_slab_caches.
Result<std::unique_ptr<MemoryFiles>> make_linux_files(KernelImage& image, std::vector<std::string>& notes);

}  // namespace memstat::postmortem
