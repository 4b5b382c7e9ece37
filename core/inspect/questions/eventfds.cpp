// SPDX-License-Identifier: BSD-2-Clause
// Descriptors from eventfd(2).
#include "core/inspect/processes.h"

namespace memstat::inspections::eventfds {

extern const Inspection inspection{
    .name = "eventfds",
    .question = "Which processes hold eventfds",
    .things = "eventfds",
    .parts = "open files",
    .needs = "CAP_SYS_PTRACE",
    .look = [](Inspector& inspector) { return count_descriptors(inspector, "anon_inode:[eventfd]"); }};

}  // namespace memstat::inspections::eventfds
