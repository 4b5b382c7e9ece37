// SPDX-License-Identifier: BSD-2-Clause
// Open files: the descriptors of each process. A file that processes share counts in each of them.
#include "core/inspect/freebsd_processes.h"

namespace memstat::inspections::freebsd_files {

extern const Inspection inspection{
    .name = "files",
    .os = OperatingSystem::kFreeBsd,
    .question = "Which processes hold open files",
    .things = "open files",
    .needs = kSeeOthers,
    .look = [](Inspector& inspector) { return count_exported_files(inspector, std::nullopt); }};

}  // namespace memstat::inspections::freebsd_files
