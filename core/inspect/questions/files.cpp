// SPDX-License-Identifier: BSD-2-Clause
// Open files: the descriptors of each process, and how many it may have (RLIMIT_NOFILE). Shared files count in each process.
#include "core/inspect/processes.h"

namespace memstat::inspections::files {
namespace {

Result<void> look(Inspector& inspector) {
  std::vector<std::string> listed;
  return walk_by_descriptors(inspector, [&](const Process& process) {
    std::uint64_t count = process.descriptors.value_or(0);
    if (!process.descriptors) {
      if (auto done = inspector.view().list_directory(path_of(process, "fd"), listed); !done) {
        note_refusal(inspector, process, done.error());
        return;
      }
      count = listed.size();
    }
    inspector.see(count);
    if (count == 0) return;
    Holder& holder = inspector.add(holder_of(process));
    holder.count = count;
    // Limits are larger than this, except of programs that lower theirs once they have all the files they need.
    constexpr std::uint64_t kFew = 64;
    if (count >= kFew) holder.limit = soft_limit(inspector, process.pid, "Max open files");
  });
}

}  // namespace

extern const Inspection inspection{.name = "files",
                                   .question = "Which processes hold open files",
                                   .things = "open files",
                                   .parts = "open files",
                                   .needs = "CAP_SYS_PTRACE",
                                   .table = "files",
                                   .look = look};

}  // namespace memstat::inspections::files
