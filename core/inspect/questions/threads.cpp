// SPDX-License-Identifier: BSD-2-Clause
// Threads of each process.
#include "core/inspect/processes.h"

namespace memstat::inspections::threads {
namespace {

Result<void> look(Inspector& inspector) {
  return walk_statuses(inspector, [&](std::uint64_t pid, std::string_view status) {
    auto process = parse_status(status, {});
    const auto count = status_number(status, "Threads");
    if (!process || !count) return;
    process->pid = pid;
    inspector.add(holder_of(*process)).count = count;
  });
}

}  // namespace

extern const Inspection inspection{
    .name = "threads", .question = "Which processes have threads", .things = "threads", .parts = "processes", .look = look};

}  // namespace memstat::inspections::threads
