// SPDX-License-Identifier: BSD-2-Clause
// Files of control groups that need not be opened: a pass of linux_slab_bpf reads the page counters of all groups in the
// kernel, and each of these files prints one of them.
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
  std::uint64_t inode = 0;  ///< Of the group's directory.
  PageCounter memory{};
  PageCounter both{};  ///< Memory and swap, of version 1; as kernel and sockets.
  PageCounter kernel{};
  PageCounter sockets{};
};

/// How long counters count as read just now: longer than the rest of a poll takes, shorter than the time to the next one.
inline constexpr std::int64_t kCountersLastNs = 100'000'000;

/// Replaces the counters of this machine's groups that were read last, at `now_ns` of the monotonic clock. Thread safety:
/// safe.
void publish_group_counters(std::span<const GroupCounters> groups, std::int64_t now_ns);

/// Thread safety: safe.
class GroupFiles {
 public:
  explicit GroupFiles(std::uint64_t page_size) : page_size_(page_size) {}
  /// Writes what the file with this path has now to `out`, if it is of a known group and its counters were just read.
  bool answer(std::string_view path, Buffer& out, std::int64_t now_ns);
  /// Learns the group of a file that was read, if there are counters to answer from.
  void learn(std::string_view path, std::int64_t now_ns);

 private:
  std::uint64_t page_size_;
  Mutex mutex_;
  /// By directory. A group that takes the place of another has another inode.
  std::map<std::string, std::uint64_t, std::less<>> inodes_ MEMSTAT_GUARDED_BY(mutex_);
};

}  // namespace memstat
