// SPDX-License-Identifier: BSD-2-Clause
// The names of Linux's merged slab caches. The kernel merges caches with similar objects and lists them under one of
// the names: the objects of "sigqueue" may include those of "inotify_inode_mark". In /sys/kernel/slab each name is a
// link to the shared directory (sysfs_slab_alias in mm/slub.c).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/kernel/kernel_view.h"

namespace memstat {

/// The names of merged slab caches, as of reading. Thread safety: immutable once read.
class MergedSlabs {
 public:
  /// Reads a link for each of some 400 caches; needs no privileges. Empty if the kernel has no such directory.
  /// Allocates.
  static MergedSlabs read(KernelView& view);

  /// All names of the cache with this name, sorted and including it; empty if it has no other.
  [[nodiscard]] const std::vector<std::string>& names_of(std::string_view cache) const;
  [[nodiscard]] bool empty() const { return names_.empty(); }

 private:
  std::map<std::string, std::string, std::less<>> directories_;         // by name
  std::map<std::string, std::vector<std::string>, std::less<>> names_;  // by directory; at least two each
};

}  // namespace memstat
