// SPDX-License-Identifier: BSD-2-Clause
// The files of the source linux_table, and their content at one poll.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>

#include "core/base/result.h"
#include "core/base/text.h"
#include "core/collect/file_list.h"
#include "core/collect/listed_name.h"

namespace memstat::sources::linux_table {

// Frequently changing counts first. The rest (counts without a limit, rarely changing counts, and settings) is read once a
// minute only.
inline constexpr std::string_view kPaths[] = {
    "/proc/sys/fs/file-nr",
    "/proc/net/stat/nf_conntrack",
    "/proc/net/stat/arp_cache",
    "/proc/net/stat/ndisc_cache",
    "/proc/loadavg",
    "/proc/net/sockstat",
    "/proc/net/netstat",
    "/proc/meminfo",
    "/proc/sys/fs/inode-state",
    "/proc/sys/fs/dentry-state",
    "/proc/sys/net/netfilter/nf_conntrack_count",
    "/proc/key-users",
    "/proc/sys/fs/aio-nr",
    "/proc/sys/kernel/pty/nr",
    "/proc/sysvipc/shm",
    "/proc/sysvipc/sem",
    "/proc/sysvipc/msg",
    "/proc/sys/net/netfilter/nf_conntrack_max",
    "/proc/sys/net/ipv4/neigh/default/gc_thresh2",
    "/proc/sys/net/ipv4/neigh/default/gc_thresh3",
    "/proc/sys/net/ipv6/neigh/default/gc_thresh2",
    "/proc/sys/net/ipv6/neigh/default/gc_thresh3",
    "/proc/sys/kernel/threads-max",
    "/proc/sys/kernel/pid_max",
    "/proc/sys/fs/aio-max-nr",
    "/proc/sys/kernel/pty/max",
    "/proc/sys/kernel/shmmni",
    "/proc/sys/kernel/shmall",
    "/proc/sys/kernel/sem",
    "/proc/sys/kernel/msgmni",
    "/proc/sys/net/ipv4/tcp_max_orphans",
    "/proc/sys/net/ipv4/tcp_max_tw_buckets",
    "/proc/sys/fs/epoll/max_user_watches",
    "/proc/sys/fs/inotify/max_user_watches",
    "/proc/sys/fs/inotify/max_user_instances",
    "/proc/sys/fs/fanotify/max_user_marks",
    "/proc/sys/fs/fanotify/max_user_groups",
    "/proc/sys/vm/overcommit_memory",
    "/proc/sys/vm/max_map_count",
    "/proc/sys/net/core/somaxconn",
    "/proc/sys/net/core/rmem_max",
    "/proc/sys/net/core/wmem_max",
};
using File = ListedName<kPaths>;
inline constexpr std::span kTablePaths = std::span(kPaths).first(File("/proc/meminfo"));
inline constexpr std::span kCountPaths = std::span(kPaths).first(File("/proc/sys/fs/inode-state"));
inline constexpr std::span kSettingPaths = std::span(kPaths).subspan(kCountPaths.size());

using Number = std::optional<std::uint64_t>;

/// The files of one poll. Records the first error and continues, so that callers need not check each number.
class TableFiles {
 public:
  TableFiles(std::string_view counts, std::string_view settings) {
    const std::span contents(contents_);
    if (!find_contents(counts, kCountPaths, contents.first(kCountPaths.size()))) {
      error_ = data_error(kPaths[0], counts.size(), "the data ends early");
    } else if (!find_contents(settings, kSettingPaths, contents.subspan(kCountPaths.size()))) {
      error_ = data_error(kSettingPaths[0], settings.size(), "the data ends early");
    }
  }

  /// The content of a file if it consists of whole lines; nothing if there is no such file.
  std::optional<std::string_view> text(File file) {
    const auto& content = contents_[file];
    if (!content) return std::nullopt;
    if (content->empty() || content->ends_with('\n')) return content;
    refuse(file, content->size(), "ends within a line");
    return std::nullopt;
  }
  /// The number at index `place` of a file's only line; nothing if there is no such file.
  Number number(File file, std::size_t place = 0) {
    const auto content = text(file);
    if (!content) return std::nullopt;
    std::string_view rest = trim(*content);
    std::string_view word;
    for (std::size_t at = 0; next_word(rest, word); ++at) {
      if (at != place) continue;
      if (const auto number = parse_u64(word)) return number;
      break;
    }
    refuse(file, 0, "expected a number of at most 64 bits");
    return std::nullopt;
  }
  void refuse(File file, std::size_t offset, std::string_view what) {
    if (!error_) error_ = data_error(kPaths[file], offset, what);
  }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  std::array<std::optional<std::string_view>, std::size(kPaths)> contents_;
  std::optional<Error> error_;
};

}  // namespace memstat::sources::linux_table
