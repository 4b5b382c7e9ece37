// SPDX-License-Identifier: BSD-2-Clause
// /proc/meminfo of a crashed Linux kernel, as meminfo_proc_show() (fs/proc/meminfo.c) would have printed it.
#pragma once

#include <string>

#include "core/postmortem/linux/kernel_image.h"
#include "core/postmortem/linux/statistics.h"

namespace memstat::postmortem {

/// /proc/meminfo of the dumped kernel.
struct LinuxMeminfo {
  std::string text;    ///< Without unreadable lines; "" if MemTotal or MemFree is one of them.
  std::string damage;  ///< What could not be read, for display; usually "".
};

/// Omits lines that no source reads (Dirty, Committed_AS, Direct Map*, ...), Zswap, and MemAvailable.
LinuxMeminfo read_linux_meminfo(KernelImage& image, const LinuxStatistics& statistics, std::uint64_t page_bytes);

}  // namespace memstat::postmortem
