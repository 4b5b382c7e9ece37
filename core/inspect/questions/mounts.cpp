// SPDX-License-Identifier: BSD-2-Clause
// Mounts of each mount namespace that a process is in: lines of mountinfo, against fs.mount-max (fs/namespace.c,
// count_mounts).
#include <algorithm>

#include "core/inspect/processes.h"

namespace memstat::inspections::mounts {
namespace {

Result<void> look(Inspector& inspector) {
  const auto limit = setting(inspector, "/proc/sys/fs/mount-max");
  const auto processes = list_processes(inspector);
  if (!processes) return processes.error();
  for (const Process& process : one_of_each(inspector, *processes, "mnt")) {
    if (!inspector.take()) break;
    const std::string_view lines = inspector.read(directory_of(process) + "mountinfo");
    const auto count = std::count(lines.begin(), lines.end(), '\n');
    if (count == 0) continue;
    Holder& holder = inspector.add(process.pid == 0 ? Holder{} : holder_of(process));
    if (process.pid == 0) holder.name = "this namespace";
    holder.count = static_cast<std::uint64_t>(count);
    holder.limit = limit;
  }
  return {};
}

}  // namespace

extern const Inspection inspection{.name = "mounts",
                                   .question = "How many mounts each mount namespace has",
                                   .kind = "namespace",
                                   .things = "mounts",
                                   .parts = "processes",
                                   .needs = "CAP_SYS_PTRACE",
                                   .look = look};

}  // namespace memstat::inspections::mounts
