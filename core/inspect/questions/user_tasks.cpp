// SPDX-License-Identifier: BSD-2-Clause
// Use of the limits that all processes of a user share. Tasks, including threads and zombies, against the smallest
// RLIMIT_NPROC (kernel/fork.c, copy_process). Queued signals, including POSIX timers, against RLIMIT_SIGPENDING; SigQ of
// /proc/PID/status has both. The kernel counts a user across all containers. The process named is the one with most
// threads.
#include <algorithm>
#include <map>
#include <vector>

#include "core/base/text.h"
#include "core/inspect/processes.h"

namespace memstat::inspections::user_tasks {
namespace {

/// Programs that must not fork set smaller limits for themselves.
constexpr std::uint64_t kMinLimit = 16;

struct User {
  std::uint64_t tasks = 0;
  std::uint64_t queued = 0;
  std::uint64_t queue_limit = 0;  ///< The smallest; 0: unknown
  std::uint64_t most_threads = 0;
  Process largest;
  std::vector<std::uint64_t> pids;
};

/// "12/127235"
void see_queue(std::string_view value, User& user) {
  const std::size_t slash = value.find('/');
  if (slash == std::string_view::npos) return;
  const auto used = parse_u64(value.substr(0, slash));
  const auto limit = parse_u64(value.substr(slash + 1));
  if (!used || !limit || *limit < kMinLimit) return;
  user.queued = std::max(user.queued, *used);
  user.queue_limit = user.queue_limit == 0 ? *limit : std::min(user.queue_limit, *limit);
}

Result<void> look(Inspector& inspector) {
  std::map<std::string, User> users;
  auto walked = walk_statuses(inspector, [&](std::uint64_t pid, std::string_view status) {
    const auto uid = status_number(status, "Uid");
    const std::uint64_t threads = status_number(status, "Threads").value_or(1);
    if (!uid || *uid == 0) return;  // root and kernel threads are exempt
    User& user = users[std::to_string(*uid)];
    user.tasks += std::min(threads, UINT64_MAX - user.tasks);
    auto process = parse_status(status, {});
    if (!process) return;  // a zombie
    see_queue(status_value(status, "SigQ"), user);
    user.pids.push_back(pid);
    if (threads <= user.most_threads) return;
    user.most_threads = threads;
    user.largest = *std::move(process);
    user.largest.pid = pid;
  });
  if (!walked) return walked;
  for (const auto& [uid, user] : users) {
    Holder holder = user.largest.pid == 0 ? Holder{} : holder_of(user.largest);
    holder.user = uid;
    if (user.queue_limit != 0 && user.queued != 0) {
      Holder& queue = inspector.add(holder);
      queue.name = "queued signals and timers";
      queue.count = user.queued;
      queue.limit = user.queue_limit;
    }
    holder.name = "tasks";
    holder.count = user.tasks;
    for (const std::uint64_t pid : user.pids) {
      if (!inspector.take()) break;
      const auto limit = soft_limit(inspector, pid, "Max processes");
      if (limit && *limit >= kMinLimit) holder.limit = std::min(*limit, holder.limit.value_or(*limit));
    }
    inspector.add(std::move(holder));
  }
  return {};
}

}  // namespace

extern const Inspection inspection{.name = "user-tasks",
                                   .question = "How many tasks and queued signals users have",
                                   .kind = "user",
                                   .things = "in use",
                                   .parts = "processes",
                                   .needs = "CAP_SYS_PTRACE",
                                   .sees = ViewPart::kProcesses | ViewPart::kUsers,
                                   .table = "threads",
                                   .look = look};

}  // namespace memstat::inspections::user_tasks
