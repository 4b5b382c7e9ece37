// SPDX-License-Identifier: BSD-2-Clause
// Instances of inotify: descriptors from inotify_init(2), which exists since 15.0. The kernel does not report their
// watches.
#include "core/inspect/freebsd_processes.h"

namespace memstat::inspections::freebsd_inotify {

extern const Inspection inspection{
    .name = "inotify",
    .os = OperatingSystem::kFreeBsd,
    .question = "Which processes hold instances of inotify",
    .things = "inotify instances",
    .needs = kSeeOthers,
    .look = [](Inspector& inspector) { return count_exported_files(inspector, DescriptorType::kInotify); }};

}  // namespace memstat::inspections::freebsd_inotify
