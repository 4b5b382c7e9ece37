// SPDX-License-Identifier: BSD-2-Clause
// Ends of unnamed pipes: each counts once in a process, however many descriptors it has. The kernel does not report which
// two belong together.
#include <set>

#include "core/inspect/freebsd_processes.h"

namespace memstat::inspections::freebsd_pipes {
namespace {

Result<void> look(Inspector& inspector) {
  const auto processes = exported_processes(inspector);
  if (!processes) return processes.error();
  std::map<std::uint64_t, std::set<std::uint64_t>> ends;  // by pid
  std::map<std::uint64_t, std::uint32_t> uids;
  auto visited = visit_exported_files(inspector, [&](const ExportedFile& file) {
    if (file.type != DescriptorType::kPipe) return;
    ends[file.pid].insert(file.object);
    uids[file.pid] = file.uid;
  });
  if (!visited) return visited;
  for (const auto& [pid, objects] : ends) {
    inspector.add(holder_of(*processes, pid, uids[pid])).count = objects.size();
  }
  return {};
}

}  // namespace

extern const Inspection inspection{.name = "pipes",
                                   .os = OperatingSystem::kFreeBsd,
                                   .question = "Which processes hold ends of pipes",
                                   .things = "ends of pipes",
                                   .needs = kSeeOthers,
                                   .look = look};

}  // namespace memstat::inspections::freebsd_pipes
