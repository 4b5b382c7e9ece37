// SPDX-License-Identifier: BSD-2-Clause
// All control groups, at any depth. The poll reads only those near the root.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/inspect/inspection.h"

namespace memstat {

struct FoundGroup {
  std::string directory;  ///< "/sys/fs/cgroup/a/b"
  std::string path;       ///< "/a/b"
  bool is_leaf = false;   ///< has no groups below it
};

/// The directories of the hierarchies with the controllers memory and pids, which are one in version 2.
struct GroupHierarchies {
  std::string_view memory;
  std::string_view tasks;
  bool is_version_1 = false;
};
GroupHierarchies group_hierarchies(Inspector& inspector);

/// Calls `visit` for each group below the hierarchy's root, within the bounds. Errors: it cannot be listed.
Result<void> walk_groups(Inspector& inspector, std::string_view root, const std::function<void(const FoundGroup&)>& visit);

}  // namespace memstat
