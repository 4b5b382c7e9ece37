// SPDX-License-Identifier: BSD-2-Clause
// The kernel in a crash dump of any kind.
#pragma once

#include <memory>
#include <variant>

#include "core/base/result.h"
#include "core/postmortem/container/dump_file.h"
#include "core/postmortem/freebsd/image.h"
#include "core/postmortem/linux/kernel_image.h"

namespace memstat::postmortem {

/// The kernel in a dump, never null.
using DumpKernel = std::variant<std::unique_ptr<KernelImage>, std::unique_ptr<FreeBsdKernel>>;

/// Detects the system: minidumps are FreeBSD's, and so are full dumps without VMCOREINFO for which a kernel file
/// exists. Errors: those of open_dump_memory, KernelImage::open, FreeBsdMinidump::open, open_with_kernel and
/// open_freebsd_image.
Result<DumpKernel> open_dump_kernel(const DumpFile& dump);

}  // namespace memstat::postmortem
