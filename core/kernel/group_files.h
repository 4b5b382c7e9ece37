// SPDX-License-Identifier: BSD-2-Clause
// Files of control groups that need not be opened, and directories of them that need not be listed: a pass of linux_slab_bpf
// reads the page counters and the counts of events of all groups in the kernel. A file prints a counter, or has the text
// that it had while the counts were the same.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "core/base/buffer.h"
#include "core/base/mutex.h"

namespace memstat {

/// A page counter of the kernel (struct page_counter).
struct PageCounter {
  std::uint64_t usage = 0;  ///< Pages.
  std::uint64_t failures = 0;
  std::uint64_t limit = 0;  ///< Pages.
};
struct GroupCounters {
  std::uint64_t inode = 0;   ///< Of the group's directory.
  std::uint64_t events = 0;  ///< Changes whenever memory.events or memory.oom_control does.
  PageCounter memory{};
  PageCounter both{};  ///< Memory and swap, of version 1; as kernel and sockets.
  PageCounter kernel{};
  PageCounter sockets{};
};

/// How long counters count as read just now: longer than the rest of a poll takes, shorter than the time to the next one.
inline constexpr std::int64_t kCountersLastNs = 100'000'000;

/// Replaces the counters of this machine's groups that were read last, at `now_ns` of the monotonic clock. `are_all`: no
/// group is missing. Thread safety: safe.
void publish_group_counters(std::span<const GroupCounters> groups, bool are_all, std::int64_t now_ns);

/// A number that changes when a group comes or goes; 0 if not all groups were just read. Thread safety: safe.
std::uint64_t published_group_set(std::int64_t now_ns);

/// Thread safety: safe.
class GroupFiles {
 public:
  explicit GroupFiles(std::uint64_t page_size) : page_size_(page_size) {}
  /// Writes what the file with this path has now to `out`, if it is of a known group and its counters were just read.
  bool answer(std::string_view path, Buffer& out, std::int64_t now_ns);
  /// Learns the group of a file that was read and what it had, if there are counters to answer from.
  void learn(std::string_view path, std::string_view content, std::int64_t now_ns);

 private:
  struct Known {
    std::uint64_t inode = 0;          // a group that takes the place of another has another one
    std::uint64_t absent_in = 0;      // the set of groups in which it was not found
    std::uint64_t events = 0;         // when its file of events was read
    std::string text_of_events = {};  // "": not read yet
  };

  std::uint64_t page_size_;
  Mutex mutex_;
  std::map<std::string, Known, std::less<>> groups_ MEMSTAT_GUARDED_BY(mutex_);  // by directory
};

}  // namespace memstat
