// SPDX-License-Identifier: BSD-2-Clause
// Finds the kernel file of a FreeBSD dump.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/postmortem/freebsd/image.h"

namespace memstat::postmortem {

/// Possible kernel files of a dump, in the order in which they are tried. If MEMSTAT_KERNEL is set in the environment:
/// only that. Otherwise: next to the dump, kernel.3 (for vmcore.3 or vmcore.3.zst), then kernel; on FreeBSD also the
/// running kernel, then all below /boot. Only existing files. `dump` may be "" if there is no dump file.
std::vector<std::string> kernel_candidates(const std::string& dump);

/// Opens the dump with the first candidate that is its kernel. `open` tries one. Errors: kNotPresent with advice if
/// there are no candidates; otherwise the first candidate's.
Result<std::unique_ptr<FreeBsdKernel>> open_with_kernel(
    const std::string& dump, const std::function<Result<std::unique_ptr<FreeBsdKernel>>(KernelFile)>& open);

}  // namespace memstat::postmortem
