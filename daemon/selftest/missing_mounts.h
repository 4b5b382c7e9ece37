// SPDX-License-Identifier: BSD-2-Clause
// Kernel file systems that this machine could mount but has not, so that figures are missing.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/kernel/kernel_view.h"
#include "core/source.h"

namespace memstat {

/// What to do if procfs is not mounted, or without the files of the machine; "" if it is, and on systems other than Linux.
std::string missing_proc(KernelView& view);

/// A line for people for each of procfs, sysfs and debugfs that is not mounted: which of `sources` lack figures, and what to
/// do. Empty if nothing is missing, if the kernel has no debugfs, if only root may look, and on systems other than Linux.
/// Thread safety: as the view.
std::vector<std::string> missing_mounts(KernelView& view, std::span<const SourceDescriptor* const> sources);

}  // namespace memstat
