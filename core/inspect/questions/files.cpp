// SPDX-License-Identifier: BSD-2-Clause
// Open files: the descriptors of each process, and how many it may have (RLIMIT_NOFILE). Shared files count in each process.
#include "core/inspect/processes.h"

namespace memstat::inspections::files {
namespace {

Result<void> look(Inspector& inspector) {
  const auto processes = list_processes(inspector);
  if (!processes) return processes.error();
  std::vector<std::string> descriptors;
  for (const Process& process : *processes) {
    if (!inspector.take()) break;
    if (auto listed = inspector.view().list_directory(path_of(process, "fd"), descriptors); !listed) {
      note_refusal(inspector, process, listed.error());
    } else if (!descriptors.empty()) {
      Holder& holder = inspector.add(holder_of(process));
      holder.count = descriptors.size();
      // Limits are larger than this, except of programs that lower theirs once they have all the files they need.
      constexpr std::size_t kFew = 64;
      if (descriptors.size() >= kFew) holder.limit = soft_limit(inspector, process.pid, "Max open files");
    }
  }
  return {};
}

}  // namespace

extern const Inspection inspection{.name = "files",
                                   .question = "Which processes hold open files",
                                   .things = "open files",
                                   .needs = "CAP_SYS_PTRACE",
                                   .look = look};

}  // namespace memstat::inspections::files
