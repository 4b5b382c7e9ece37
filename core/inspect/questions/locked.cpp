// SPDX-License-Identifier: BSD-2-Clause
// Memory that processes locked with mlock(2): VmLck of /proc/PID/status.
#include "core/inspect/processes.h"

namespace memstat::inspections::locked {

extern const Inspection inspection{
    .name = "locked",
    .question = "Which processes have locked memory",
    .things = "of locked memory",
    .parts = "processes",
    .elsewhere = "FreeBSD would have to walk through every page of every process; procstat -v PID shows what one has wired",
    .look = [](Inspector& inspector) { return look_at_status(inspector, "VmLck"); }};

}  // namespace memstat::inspections::locked
