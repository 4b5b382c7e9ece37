// SPDX-License-Identifier: BSD-2-Clause
// Pseudo terminals, which exist as long as their master, a descriptor of /dev/ptmx, is open (drivers/tty/pty.c).
#include "core/inspect/processes.h"

namespace memstat::inspections::terminals {
namespace {

Result<void> look(Inspector& inspector) {
  std::uint64_t masters = 0;
  return walk_descriptors(
      inspector,
      [&](const Process&, std::string_view, std::string_view target) {
        if (target == "/dev/ptmx" || target == "/dev/pts/ptmx" || target == "/ptmx") ++masters;
      },
      [&](const Process& process) {
        if (masters != 0) inspector.add(holder_of(process)).count = masters;
        masters = 0;
      });
}

}  // namespace

extern const Inspection inspection{.name = "terminals",
                                   .question = "Which processes hold pseudo terminals",
                                   .things = "terminals",
                                   .parts = "open files",
                                   .needs = "CAP_SYS_PTRACE",
                                   .look = look};

}  // namespace memstat::inspections::terminals
