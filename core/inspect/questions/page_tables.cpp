// SPDX-License-Identifier: BSD-2-Clause
// Page tables of processes: VmPTE of /proc/PID/status.
#include "core/inspect/processes.h"

namespace memstat::inspections::page_tables {
namespace {

Result<void> look(Inspector& inspector) { return look_at_status(inspector, "VmPTE"); }

}  // namespace

extern const Inspection inspection{
    .name = "page-tables",
    .question = "Which processes have page tables",
    .kind = "process",
    .things = "of page tables",
    .parts = "processes",
    .needs = "",
    .elsewhere = "FreeBSD does not report the page tables of processes; memstatctl who anonymous names the large ones",
    .look = look};

}  // namespace memstat::inspections::page_tables
