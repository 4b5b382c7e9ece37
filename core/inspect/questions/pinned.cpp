// SPDX-License-Identifier: BSD-2-Clause
// Memory that processes pinned for devices (RDMA, VFIO, io_uring, AF_XDP): VmPin of /proc/PID/status.
#include "core/inspect/processes.h"

namespace memstat::inspections::pinned {
namespace {

Result<void> look(Inspector& inspector) { return look_at_status(inspector, "VmPin"); }

}  // namespace

extern const Inspection inspection{
    .name = "pinned",
    .question = "Which processes have pinned memory for devices",
    .kind = "process",
    .things = "of pinned memory",
    .parts = "processes",
    .needs = "",
    .elsewhere = "FreeBSD does not count it; pages that are wired for devices are in wired memory",
    .look = look};

}  // namespace memstat::inspections::pinned
