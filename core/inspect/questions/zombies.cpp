// SPDX-License-Identifier: BSD-2-Clause
// Children that have ended and whose parent does not wait for them: each keeps a process number and a thread
// (kernel/exit.c, release_task).
#include <map>

#include "core/inspect/processes.h"

namespace memstat::inspections::zombies {
namespace {

Result<void> look(Inspector& inspector) {
  std::map<std::uint64_t, std::uint64_t> children;  // by parent
  auto walked = walk_statuses(inspector, [&](std::uint64_t, std::string_view status) {
    const auto parent = status_number(status, "PPid");
    if (parent && *parent != 0 && status_value(status, "State").starts_with('Z')) ++children[*parent];
  });
  if (!walked) return walked;
  for (const auto& [parent, count] : children) {
    auto process = parse_status(inspector.read("/proc/" + std::to_string(parent) + "/status"), {});
    if (!process) continue;  // has ended since; another process now waits for them
    process->pid = parent;
    inspector.add(holder_of(*process)).count = count;
  }
  return {};
}

}  // namespace

extern const Inspection inspection{.name = "zombies",
                                   .question = "Which processes do not wait for children that have ended",
                                   .things = "zombies",
                                   .parts = "processes",
                                   .table = "threads",
                                   .look = look};

}  // namespace memstat::inspections::zombies
