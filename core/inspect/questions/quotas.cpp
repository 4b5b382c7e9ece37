// SPDX-License-Identifier: BSD-2-Clause
// Limits per user for which the kernel does not report the use: pages of pipes, watches of epoll, marks of fanotify. Also
// namespaces, of all users together, because their creators are not known. The named process is the one that has the most.
#include <array>
#include <map>
#include <set>

#include "core/base/text.h"
#include "core/inspect/processes.h"

namespace memstat::inspections::quotas {
namespace {

constexpr std::uint64_t kPagesOfPipe = 16;
/// For a pipe of a user who already has fs.pipe-user-pages-soft pages (fs/pipe.c, alloc_pipe_info).
constexpr std::uint64_t kPagesOfSmallPipe = 2;

constexpr std::array<std::string_view, 8> kSpaces = {"cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts"};

/// Use of one thing, by one user or by all.
struct Use {
  std::uint64_t count = 0;
  std::uint64_t most = 0;  ///< Of one process.
  Process largest;

  void add(const Process& process, std::uint64_t more) {
    if (more == 0) return;
    count += std::min(more, UINT64_MAX - count);
    if (more <= most) return;
    most = more;
    largest = process;
  }
};

/// Counts for the process that is walked now.
struct Current {
  std::uint64_t pipes = 0;
  std::uint64_t watches = 0;
  std::uint64_t marks = 0;
  std::array<std::uint64_t, kSpaces.size()> spaces{};
};

struct Machine {
  Current current;
  std::map<std::string, Use> pipes, watches, marks;  ///< By user.
  std::array<Use, kSpaces.size()> spaces;
  std::set<std::pair<std::string, std::uint64_t>> seen_pipes;  ///< By user.
  std::set<std::string> seen_spaces;
};

std::uint64_t count_lines(std::string_view text, std::initializer_list<std::string_view> beginnings) {
  std::uint64_t count = 0;
  std::string_view line;
  while (next_line(text, line)) {
    for (const std::string_view beginning : beginnings) count += line.starts_with(beginning) ? 1 : 0;
  }
  return count;
}

/// "net:[4026531840]", as a link of ns/, the target of a descriptor, or the root of a mount.
void see_space(std::string_view target, Machine& machine) {
  for (std::size_t i = 0; i < kSpaces.size(); ++i) {
    const bool is_new = inode_of(target, kSpaces[i]) && machine.seen_spaces.insert(std::string(target)).second;
    machine.current.spaces[i] += is_new ? 1 : 0;
  }
}

void see_descriptor(Inspector& inspector, const Process& process, std::string_view descriptor, std::string_view target,
                    Machine& machine) {
  const auto fdinfo = [&] { return inspector.read(path_of(process, "fdinfo/" + std::string(descriptor))); };
  if (const auto inode = inode_of(target, "pipe")) {
    machine.current.pipes += machine.seen_pipes.insert({process.uid, *inode}).second ? 1 : 0;
  } else if (target == "anon_inode:[eventpoll]") {
    machine.current.watches += count_lines(fdinfo(), {"tfd:"});
  } else if (target == "anon_inode:[fanotify]") {
    machine.current.marks += count_lines(fdinfo(), {"fanotify ino:", "fanotify mnt_id:", "fanotify sdev:"});
  } else {
    see_space(target, machine);
  }
}

void leave_process(Inspector& inspector, const Process& process, Machine& machine) {
  for (const std::string_view kind : kSpaces) {
    if (const auto link = inspector.view().read_link(path_of(process, "ns/" + std::string(kind)))) see_space(*link, machine);
  }
  const Current current = std::exchange(machine.current, {});
  machine.pipes[process.uid].add(process, current.pipes);
  machine.watches[process.uid].add(process, current.watches);
  machine.marks[process.uid].add(process, current.marks);
  for (std::size_t i = 0; i < kSpaces.size(); ++i) machine.spaces[i].add(process, current.spaces[i]);
}

/// Namespaces that a mount keeps, as ip-netns(8) makes them: "36 35 0:4 net:[4026532281] /run/netns/a rw - nsfs nsfs rw".
void see_mounts(Inspector& inspector, Machine& machine) {
  std::string_view rest = inspector.read("/proc/self/mountinfo");
  std::string_view line;
  while (next_line(rest, line)) {
    std::string_view word;
    bool is_whole = true;
    for (int place = 0; place < 4; ++place) is_whole = is_whole && next_word(line, word);
    if (!is_whole || !word.ends_with(']')) continue;
    if (!inspector.take()) return;
    see_space(word, machine);
  }
  const Current current = std::exchange(machine.current, {});
  for (std::size_t i = 0; i < kSpaces.size(); ++i) machine.spaces[i].add(Process{}, current.spaces[i]);
}

void add_use(Inspector& inspector, const Use& use, std::string_view name, std::uint64_t count,
             std::optional<std::uint64_t> limit) {
  if (count == 0 || !limit || *limit == 0) return;
  Holder& holder = inspector.add(use.largest.pid == 0 ? Holder{} : holder_of(use.largest));
  holder.name = name;
  holder.count = count;
  holder.limit = limit;
}

/// Root may exceed both limits. F_SETPIPE_SZ makes a pipe larger, which only processes that have it open can see.
void add_pipes(Inspector& inspector, const Machine& machine) {
  const auto soft = setting(inspector, "/proc/sys/fs/pipe-user-pages-soft");
  const auto hard = setting(inspector, "/proc/sys/fs/pipe-user-pages-hard");
  for (const auto& [uid, use] : machine.pipes) {
    if (uid == "0") continue;
    const std::uint64_t large = soft && *soft != 0 ? std::min(use.count, *soft / kPagesOfPipe) : use.count;
    const std::uint64_t pages = kPagesOfPipe * large + kPagesOfSmallPipe * (use.count - large);
    add_use(inspector, use, "pages of pipes, at least", pages, soft);
    add_use(inspector, use, "pages of pipes, at least (hard limit)", pages, hard);
  }
}

Result<void> look(Inspector& inspector) {
  Machine machine;
  auto walked = walk_descriptors(
      inspector,
      [&](const Process& process, std::string_view descriptor, std::string_view target) {
        see_descriptor(inspector, process, descriptor, target, machine);
      },
      [&](const Process& process) { leave_process(inspector, process, machine); });
  if (!walked) return walked;
  see_mounts(inspector, machine);
  add_pipes(inspector, machine);
  const auto watches = setting(inspector, "/proc/sys/fs/epoll/max_user_watches");
  for (const auto& [uid, use] : machine.watches) add_use(inspector, use, "epoll watches", use.count, watches);
  const auto marks = setting(inspector, "/proc/sys/fs/fanotify/max_user_marks");
  for (const auto& [uid, use] : machine.marks) {
    if (uid != "0") add_use(inspector, use, "fanotify marks", use.count, marks);  // root may choose to have no limit
  }
  for (std::size_t i = 0; i < kSpaces.size(); ++i) {
    const std::uint64_t made = machine.spaces[i].count - std::min<std::uint64_t>(machine.spaces[i].count, 1);  // at boot
    const std::string kind(kSpaces[i]);
    add_use(inspector, machine.spaces[i], kind + " namespaces", made,
            setting(inspector, "/proc/sys/user/max_" + kind + "_namespaces"));
  }
  return {};
}

}  // namespace

extern const Inspection inspection{
    .name = "quotas",
    .question = "How much of their quotas for pipes, epoll, fanotify and namespaces users use",
    .kind = "user",
    .things = "in use",
    .parts = "open files",
    .needs = "CAP_SYS_PTRACE",
    .sees = ViewPart::kProcesses | ViewPart::kUsers,
    .table = "files",
    .look = look};

}  // namespace memstat::inspections::quotas
