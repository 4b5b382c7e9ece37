// SPDX-License-Identifier: BSD-2-Clause
// Instances of inotify: descriptors from inotify_init(2).
#include "core/inspect/processes.h"

namespace memstat::inspections::inotify {

extern const Inspection inspection{
    .name = "inotify",
    .question = "Which processes hold instances of inotify",
    .things = "inotify instances",
    .parts = "open files",
    .needs = "CAP_SYS_PTRACE",
    .table = "files",
    .look = [](Inspector& inspector) { return count_descriptors(inspector, "anon_inode:inotify"); }};

}  // namespace memstat::inspections::inotify
