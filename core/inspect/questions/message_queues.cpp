// SPDX-License-Identifier: BSD-2-Clause
// POSIX message queues of this IPC namespace: files of its mqueue mount, against fs.mqueue.queues_max (ipc/mqueue.c).
#include "core/base/text.h"
#include "core/inspect/processes.h"

namespace memstat::inspections::message_queues {
namespace {

/// The mount point of mqueue; "": none. "36 35 0:20 / /dev/mqueue rw - mqueue mqueue rw".
std::string mount_point(std::string_view mountinfo) {
  std::string_view line;
  while (next_line(mountinfo, line)) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string_view::npos || !line.substr(dash + 3).starts_with("mqueue ")) continue;
    std::string_view path;
    for (int place = 0; place < 5; ++place) {
      if (!next_word(line, path)) return {};
    }
    return std::string(path);
  }
  return {};
}

Result<void> look(Inspector& inspector) {
  Buffer mounts;
  if (auto read = inspector.view().read_file("/proc/self/mountinfo", mounts); !read) return read;
  const std::string path = mount_point(mounts.view());
  std::vector<std::string> queues;
  if (path.empty() || !inspector.take()) return {};
  if (auto listed = inspector.view().list_directory(path, queues); !listed) return listed;
  if (queues.empty()) return {};
  Holder& holder = inspector.add({});
  holder.name = path;
  holder.count = queues.size();
  holder.limit = setting(inspector, "/proc/sys/fs/mqueue/queues_max");
  return {};
}

}  // namespace

extern const Inspection inspection{.name = "message-queues",
                                   .question = "How many POSIX message queues there are",
                                   .kind = "mount",
                                   .things = "POSIX message queues",
                                   .sees = ViewPart::kIpc,
                                   .look = look};

}  // namespace memstat::inspections::message_queues
