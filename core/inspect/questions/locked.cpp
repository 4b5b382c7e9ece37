// SPDX-License-Identifier: BSD-2-Clause
// Memory that processes locked with mlock(2): VmLck of /proc/PID/status.
#include "core/inspect/processes.h"

namespace memstat::inspections::locked {
namespace {

Result<void> look(Inspector& inspector) { return look_at_status(inspector, "VmLck"); }

}  // namespace

extern const Inspection inspection;
const Inspection inspection{
    .name = "locked",
    .question = "Which processes have locked memory",
    .kind = "process",
    .things = "of locked memory",
    .needs = "",
    .elsewhere = "FreeBSD would have to walk through every page of every process; procstat -v PID shows what one has wired",
    .look = look};

}  // namespace memstat::inspections::locked
