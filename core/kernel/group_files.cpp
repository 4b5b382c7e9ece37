// SPDX-License-Identifier: BSD-2-Clause
#include "core/kernel/group_files.h"

#if defined(__linux__)

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <vector>

#include "core/base/fixed_path.h"

namespace memstat {
namespace {

constexpr std::size_t kMaxKnown = 1024;
constexpr std::uint64_t kUnknown = 0;  // no directory has this inode

struct PublishedCounters {
  Mutex mutex;
  std::vector<GroupCounters> groups MEMSTAT_GUARDED_BY(mutex);
  std::uint64_t set MEMSTAT_GUARDED_BY(mutex) = 0;  // how many different sets of groups there were so far
  bool are_all MEMSTAT_GUARDED_BY(mutex) = false;
  std::int64_t read_at_ns MEMSTAT_GUARDED_BY(mutex) = -kCountersLastNs;
};
PublishedCounters& published() {
  static PublishedCounters counters;
  return counters;
}

struct CounterFile {
  std::string_view name;
  PageCounter GroupCounters::*counter;
  std::uint64_t PageCounter::*figure;
};
constexpr auto kCounterFiles = std::to_array<CounterFile>({
    {"memory.current", &GroupCounters::memory, &PageCounter::usage},
    {"memory.max", &GroupCounters::memory, &PageCounter::limit},
    {"memory.usage_in_bytes", &GroupCounters::memory, &PageCounter::usage},
    {"memory.limit_in_bytes", &GroupCounters::memory, &PageCounter::limit},
    {"memory.failcnt", &GroupCounters::memory, &PageCounter::failures},
    {"memory.memsw.usage_in_bytes", &GroupCounters::both, &PageCounter::usage},
    {"memory.memsw.limit_in_bytes", &GroupCounters::both, &PageCounter::limit},
    {"memory.memsw.failcnt", &GroupCounters::both, &PageCounter::failures},
    {"memory.kmem.usage_in_bytes", &GroupCounters::kernel, &PageCounter::usage},
    {"memory.kmem.failcnt", &GroupCounters::kernel, &PageCounter::failures},
    {"memory.kmem.tcp.usage_in_bytes", &GroupCounters::sockets, &PageCounter::usage},
});

const CounterFile* file_of(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const auto found = std::find_if(kCounterFiles.begin(), kCounterFiles.end(),
                                  [name](const CounterFile& file) { return file.name == name; });
  return found == kCounterFiles.end() ? nullptr : found;
}

/// Files that change only when the group's count of events does.
bool is_of_events(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name == "memory.events" || name == "memory.oom_control";
}

std::string_view directory_of(std::string_view path) { return path.substr(0, path.rfind('/')); }

/// The set of groups whose counters were just read; 0: none were.
std::uint64_t fresh_set(std::int64_t now_ns) {
  PublishedCounters& all = published();
  const MutexLock lock(all.mutex);
  return !all.groups.empty() && now_ns - all.read_at_ns < kCountersLastNs ? all.set : 0;
}

std::optional<GroupCounters> counters_of(std::uint64_t inode) {
  PublishedCounters& all = published();
  const MutexLock lock(all.mutex);
  const auto found = std::find_if(all.groups.begin(), all.groups.end(),
                                  [inode](const GroupCounters& group) { return group.inode == inode; });
  return found == all.groups.end() ? std::nullopt : std::optional(*found);
}

}  // namespace

void publish_group_counters(std::span<const GroupCounters> groups, bool are_all, std::int64_t now_ns) {
  const auto is_same = [](const GroupCounters& one, const GroupCounters& other) { return one.inode == other.inode; };
  PublishedCounters& all = published();
  const MutexLock lock(all.mutex);
  if (!std::equal(groups.begin(), groups.end(), all.groups.begin(), all.groups.end(), is_same)) ++all.set;
  all.groups.assign(groups.begin(), groups.end());
  all.are_all = are_all;
  all.read_at_ns = now_ns;
}

std::uint64_t published_group_set(std::int64_t now_ns) {
  PublishedCounters& all = published();
  const MutexLock lock(all.mutex);
  return all.are_all && now_ns - all.read_at_ns < kCountersLastNs ? all.set : 0;
}

bool GroupFiles::answer(std::string_view path, Buffer& out, std::int64_t now_ns) {
  const CounterFile* const file = file_of(path);
  if (file == nullptr && !is_of_events(path)) return false;
  const std::uint64_t set = fresh_set(now_ns);
  if (set == 0) return false;
  const MutexLock lock(mutex_);
  const auto known = groups_.find(directory_of(path));
  if (known == groups_.end()) return false;
  const auto counters = counters_of(known->second.inode);
  if (!counters) {
    if (known->second.inode != kUnknown) known->second.absent_in = set;
    known->second.inode = kUnknown;
    return false;
  }
  if (file == nullptr) {
    if (known->second.text_of_events.empty() || known->second.events != counters->events) return false;
    out.assign(known->second.text_of_events);
    return true;
  }
  const std::uint64_t figure = (*counters).*(file->counter).*(file->figure);
  // mm/page_counter.h: the limit of a counter without one. Version 1 prints it as any other.
  const std::uint64_t no_limit = (~std::uint64_t{0} >> 1U) / page_size_;
  if (file->name == "memory.max" && figure == no_limit) {
    out.assign("max\n");
    return true;
  }
  const bool is_in_pages = file->figure != &PageCounter::failures;
  std::array<char, 24> text;
  char* const end = std::to_chars(text.begin(), text.end() - 1, is_in_pages ? figure * page_size_ : figure).ptr;
  *end = '\n';
  out.assign(std::string_view(text.data(), static_cast<std::size_t>(end + 1 - text.data())));
  return true;
}

void GroupFiles::learn(std::string_view path, std::string_view content, std::int64_t now_ns) {
  const bool has_events = is_of_events(path);
  if (file_of(path) == nullptr && !has_events) return;
  const std::uint64_t set = fresh_set(now_ns);
  if (set == 0) return;
  const std::string_view directory = directory_of(path);
  const MutexLock lock(mutex_);
  auto known = groups_.find(directory);
  if (known != groups_.end() && known->second.absent_in == set) return;
  if (known == groups_.end() || known->second.inode == kUnknown) {
    FixedPath terminated;
    struct stat status {};
    if (!terminated.assign(directory) || ::stat(terminated.c_str(), &status) != 0) return;
    if (known == groups_.end()) {
      if (groups_.size() >= kMaxKnown) groups_.clear();
      known = groups_.emplace(directory, Known{}).first;
    }
    known->second = {.inode = status.st_ino};
  }
  if (!has_events) return;
  // An event since the counters were read makes them differ at the next poll.
  const auto counters = counters_of(known->second.inode);
  known->second.text_of_events.assign(counters ? content : "");
  known->second.events = counters ? counters->events : 0;
}

}  // namespace memstat

#endif
