// SPDX-License-Identifier: BSD-2-Clause
// File systems of the kernel that this machine could have mounted and has not: the figures that are read there are missing.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/kernel/kernel_view.h"
#include "core/source.h"

namespace memstat {

/// A line for people for each of sysfs and debugfs that is not mounted: which of `sources` lack figures by it, and what to
/// do. Empty where nothing is missing, where the kernel has no debugfs, where only root may look, and on other systems than
/// Linux. Thread safety: as that of the view.
std::vector<std::string> missing_mounts(KernelView& view, std::span<const SourceDescriptor* const> sources);

}  // namespace memstat
