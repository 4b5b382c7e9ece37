// SPDX-License-Identifier: BSD-2-Clause
// The kernel that a crash dump is of, whichever it is.
#pragma once

#include <memory>
#include <variant>

#include "core/base/result.h"
#include "core/postmortem/container/dump_file.h"
#include "core/postmortem/freebsd/image.h"
#include "core/postmortem/linux/kernel_image.h"

namespace memstat::postmortem {

/// Linux, or FreeBSD; never a null pointer. Thread safety: none.
using DumpKernel = std::variant<std::unique_ptr<KernelImage>, std::unique_ptr<FreeBsdKernel>>;

/// A minidump is of FreeBSD; a dump of all memory is, when it has no VMCOREINFO and there is a kernel file for it. Errors:
/// those of open_dump_memory, KernelImage::open, FreeBsdMinidump::open, open_with_kernel and open_freebsd_image.
Result<DumpKernel> open_dump_kernel(const DumpFile& dump);

}  // namespace memstat::postmortem
