// SPDX-License-Identifier: BSD-2-Clause
// Mounts of tmpfs and their content, in every mount namespace with a process. A mount of another namespace is shown with one
// process that sees it.
#include <set>

#include "core/collect/mount_sizes.h"
#include "core/inspect/processes.h"

namespace memstat::inspections::tmpfs {
namespace {

struct FoundMount {
  Process process;
  MountPoint mount;
};

Result<void> look(Inspector& inspector) {
  const auto processes = list_processes(inspector);
  if (!processes) return processes.error();
  std::vector<FoundMount> found;
  std::vector<MountPoint> wanted;
  std::set<std::string> devices;
  for (const Process& process : one_of_each(inspector, *processes, "mnt")) {
    const std::string directory = directory_of(process);
    for (MountPoint& mount : tmpfs_mounts(inspector.read(directory + "mountinfo"))) {
      if (devices.contains(mount.device)) continue;
      if (!inspector.take()) break;
      found.push_back({process, mount});
      mount.path = directory + "root" + mount.path;
      wanted.push_back(std::move(mount));
    }
    for (const FoundMount& one : found) devices.insert(one.mount.device);
  }
  MountSizesTable table(wanted);
  Buffer text;
  if (auto read = inspector.view().read_table("mount_sizes", table, text); !read) return read;
  std::set<std::string> listed;
  for (const MountSize& size : parse_mount_sizes(text.view())) {
    if (size.number >= found.size() || !listed.insert(found[size.number].mount.device).second) continue;
    Holder& holder = inspector.add(found[size.number].process.pid == 0 ? Holder{} : holder_of(found[size.number].process));
    holder.name = found[size.number].mount.path;
    holder.bytes = size.bytes;
    if (size.files != 0) holder.count = size.files;
  }
  return {};
}

}  // namespace

extern const Inspection inspection{.name = "tmpfs",
                                   .question = "Which mounts of tmpfs hold memory",
                                   .kind = "mount",
                                   .things = "files",
                                   .parts = "processes",
                                   .needs = "CAP_SYS_PTRACE",
                                   .look = look};

}  // namespace memstat::inspections::tmpfs
