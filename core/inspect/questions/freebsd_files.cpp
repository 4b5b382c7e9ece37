// SPDX-License-Identifier: BSD-2-Clause
// Open files: the descriptors of each process. A file that processes share counts in each of them.
#include "core/inspect/freebsd_processes.h"

namespace memstat::inspections::freebsd_files {
namespace {

Result<void> look(Inspector& inspector) { return count_exported_files(inspector, std::nullopt); }

}  // namespace

extern const Inspection inspection;
const Inspection inspection{.name = "files",
                            .question = "Which processes hold open files",
                            .kind = "process",
                            .things = "open files",
                            .needs = kSeeOthers,
                            .os = OperatingSystem::kFreeBsd,
                            .look = look};

}  // namespace memstat::inspections::freebsd_files
