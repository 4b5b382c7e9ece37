// SPDX-License-Identifier: BSD-2-Clause
// Instances of inotify: descriptors from inotify_init(2), which exists since 15.0. The kernel does not report their
// watches.
#include "core/inspect/freebsd_processes.h"

namespace memstat::inspections::freebsd_inotify {
namespace {

Result<void> look(Inspector& inspector) { return count_exported_files(inspector, DescriptorType::kInotify); }

}  // namespace

extern const Inspection inspection;
const Inspection inspection{.name = "inotify",
                            .question = "Which processes hold instances of inotify",
                            .kind = "process",
                            .things = "inotify instances",
                            .needs = kSeeOthers,
                            .os = OperatingSystem::kFreeBsd,
                            .look = look};

}  // namespace memstat::inspections::freebsd_inotify
