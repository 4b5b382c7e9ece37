// SPDX-License-Identifier: BSD-2-Clause
// Unnamed pipes. Each counts once in a process, even if both ends are open.
#include <set>

#include "core/inspect/processes.h"

namespace memstat::inspections::pipes {
namespace {

Result<void> look(Inspector& inspector) {
  std::set<std::uint64_t> pipes;
  return walk_descriptors(
      inspector,
      [&](const Process&, std::string_view, std::string_view target) {
        if (const auto inode = inode_of(target, "pipe")) pipes.insert(*inode);
      },
      [&](const Process& process) {
        if (!pipes.empty()) inspector.add(holder_of(process)).count = pipes.size();
        pipes.clear();
      });
}

}  // namespace

extern const Inspection inspection{.name = "pipes",
                                   .question = "Which processes hold pipes",
                                   .things = "pipes",
                                   .parts = "open files",
                                   .needs = "CAP_SYS_PTRACE",
                                   .look = look};

}  // namespace memstat::inspections::pipes
