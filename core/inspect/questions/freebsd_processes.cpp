// SPDX-License-Identifier: BSD-2-Clause
// Processes by program and user. A program that forks without end has many small ones, of which no single one stands out.
#include "core/inspect/freebsd_processes.h"

namespace memstat::inspections::freebsd_processes {
namespace {

Result<void> look(Inspector& inspector) {
  const auto processes = exported_processes(inspector);
  if (!processes) return processes.error();
  std::map<std::pair<std::string, std::string>, Holder> programs;  // by command and user
  for (const auto& [pid, process] : *processes) {
    Holder& program = programs[{process.command, process.user}];
    program.user = process.user;
    program.name = process.command;
    program.count = program.count.value_or(0) + 1;
  }
  for (auto& [key, program] : programs) inspector.add(std::move(program));
  return {};
}

}  // namespace

extern const Inspection inspection{.name = "processes",
                                   .os = OperatingSystem::kFreeBsd,
                                   .question = "Which programs have how many processes",
                                   .kind = "program",
                                   .things = "processes",
                                   .needs = kSeeOthers,
                                   .elsewhere = "on Linux memstatctl who threads and who user-tasks count them",
                                   .look = look};

}  // namespace memstat::inspections::freebsd_processes
