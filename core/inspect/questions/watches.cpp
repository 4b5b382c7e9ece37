// SPDX-License-Identifier: BSD-2-Clause
// Watches of inotify: one line each in fdinfo of a descriptor from inotify_init(2) (fs/notify/fdinfo.c).
#include "core/base/text.h"
#include "core/inspect/processes.h"

namespace memstat::inspections::watches {
namespace {

std::uint64_t count_watches(std::string_view fdinfo) {
  std::uint64_t count = 0;
  std::string_view line;
  while (next_line(fdinfo, line)) count += line.starts_with("inotify ") ? 1 : 0;
  return count;
}

Result<void> look(Inspector& inspector) {
  std::uint64_t count = 0;
  return walk_descriptors(
      inspector,
      [&](const Process& process, std::string_view descriptor, std::string_view target) {
        if (target != "anon_inode:inotify") return;
        count += count_watches(inspector.read(path_of(process, "fdinfo/" + std::string(descriptor))));
      },
      [&](const Process& process) {
        if (count != 0) inspector.add(holder_of(process)).count = count;
        count = 0;
      });
}

}  // namespace

extern const Inspection inspection{
    .name = "watches",
    .question = "Which processes hold watches of inotify",
    .things = "inotify watches",
    .parts = "open files",
    .needs = "CAP_SYS_PTRACE",
    .elsewhere = "FreeBSD does not report the watches of processes; memstatctl who inotify counts instances",
    .look = look};

}  // namespace memstat::inspections::watches
