// SPDX-License-Identifier: BSD-2-Clause
// /proc/meminfo of a Linux kernel that stopped: what meminfo_proc_show (fs/proc/meminfo.c) would have printed.
#pragma once

#include <string>

#include "core/postmortem/linux/kernel_image.h"
#include "core/postmortem/linux/statistics.h"

namespace memstat::postmortem {

/// Thread safety: a plain value.
struct LinuxMeminfo {
  std::string text;    ///< Without the lines that cannot be read; "" when MemTotal or MemFree is among them.
  std::string damage;  ///< What could not be read, for people; "" as a rule.
};

/// Reads it. Left out are lines that no source of ours asks for (Dirty, Committed_AS, Direct Map*, ...), Zswap,
/// MemAvailable.
LinuxMeminfo read_linux_meminfo(KernelImage& image, const LinuxStatistics& statistics, std::uint64_t page_bytes);

}  // namespace memstat::postmortem
