// SPDX-License-Identifier: BSD-2-Clause
// Which kernel file belongs to a FreeBSD dump.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/postmortem/freebsd/image.h"

namespace memstat::postmortem {

/// Where the kernel of a dump may be, in the order in which they are tried: what MEMSTAT_KERNEL in the environment names,
/// and nothing else when it is set; beside the dump, of vmcore.3 or vmcore.3.zst: kernel.3, then kernel; on FreeBSD the
/// kernel that runs, then all below /boot. Only files that are there. "": no dump in a file.
std::vector<std::string> kernel_candidates(const std::string& dump);

/// Opens the dump with the first candidate that is its kernel. `open` opens it with one. Errors: kNotPresent with what to
/// do when there is no candidate; else that of the first.
Result<std::unique_ptr<FreeBsdKernel>> open_with_kernel(
    const std::string& dump, const std::function<Result<std::unique_ptr<FreeBsdKernel>>(KernelFile)>& open);

}  // namespace memstat::postmortem
