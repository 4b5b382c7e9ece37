// SPDX-License-Identifier: BSD-2-Clause
// Mappings of large processes: lines of /proc/PID/maps, against vm.max_map_count. Skips processes whose address space has
// fewer pages than a tenth of that limit, since reading the maps of all is slow.
#include <algorithm>

#include "core/inspect/mappings.h"

namespace memstat::inspections::maps {
namespace {

constexpr std::uint64_t kUsualLimit = 65530;

Result<void> look(Inspector& inspector) {
  const auto limit = setting(inspector, "/proc/sys/vm/max_map_count");
  auto processes = list_processes(inspector, "VmSize");
  if (!processes) return processes.error();
  std::stable_sort(processes->begin(), processes->end(),
                   [](const Process& a, const Process& b) { return a.bytes > b.bytes; });
  const std::uint64_t least_pages = limit.value_or(kUsualLimit) / 10;
  std::erase_if(*processes, [&](const Process& one) { return one.bytes / inspector.view().page_size() < least_pages; });
  read_mappings(inspector, *processes, [&](const Process& process, std::string_view lines) {
    Holder& holder = inspector.add(holder_of(process));
    holder.count = static_cast<std::uint64_t>(std::count(lines.begin(), lines.end(), '\n'));
    holder.limit = limit;
  });
  return {};
}

}  // namespace

extern const Inspection inspection{.name = "maps",
                                   .question = "How many mappings large processes have",
                                   .things = "mappings",
                                   .parts = "processes",
                                   .needs = "CAP_SYS_PTRACE",
                                   .look = look};

}  // namespace memstat::inspections::maps
