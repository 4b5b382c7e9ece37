// SPDX-License-Identifier: BSD-2-Clause
// Resident memory: ki_rssize of kern.proc.proc. This kernel does not count anonymous pages separately from those of mapped
// files, and shared pages count in each process.
#include "core/base/arithmetic.h"
#include "core/inspect/freebsd_processes.h"

namespace memstat::inspections::freebsd_anonymous {
namespace {

Result<void> look(Inspector& inspector) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> resident;  // pid, pages
  const auto processes = exported_processes(inspector, [&](const ExportedProcess& process) {
    if (!process.is_kernel && process.resident != 0) resident.emplace_back(process.pid, process.resident);
  });
  if (!processes) return processes.error();
  for (const auto& [pid, pages] : resident) {
    inspector.add(processes->at(pid)).bytes = saturating_product(pages, inspector.view().page_size());
  }
  return {};
}

}  // namespace

extern const Inspection inspection{.name = "anonymous",
                                   .os = OperatingSystem::kFreeBsd,
                                   .question = "Which processes have resident memory, including files that they map",
                                   .things = "of resident memory",
                                   .needs = kSeeOthers,
                                   .look = look};

}  // namespace memstat::inspections::freebsd_anonymous
