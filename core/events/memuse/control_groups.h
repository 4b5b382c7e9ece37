// SPDX-License-Identifier: BSD-2-Clause
// The control groups of Linux's memory controller by ID, as BPF programs see them. A group's ID is the inode number of
// its directory (struct kernfs_node, `id`).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace memstat::events {

/// The directory with the mounted hierarchies.
inline constexpr std::string_view kControlGroups = "/sys/fs/cgroup";

/// A control group.
struct ControlGroupPath {
  std::uint64_t key = 0;  ///< Its ID, never 0.
  std::string path = {};  ///< Below the root of the hierarchy, "/a/b"; "/": the root.
};

/// The directory of the hierarchy with the memory controller, v1 or v2, below `mounts`; "" if there is none. Reads
/// directories.
std::string control_group_root(std::string_view mounts = kControlGroups);

/// The ID of a control group. `group`: its path below the root, with or without the leading slash, or its full path.
/// Error: kNotPresent if there is no such group, or no hierarchy.
Result<std::uint64_t> control_group_key(std::string_view group, std::string_view mounts = kControlGroups);

/// The groups that have these IDs, in no order. Searches at most 100 000 groups, 32 levels deep, since containers may
/// create any number.
std::vector<ControlGroupPath> control_group_paths(const std::vector<std::uint64_t>& keys,
                                                  std::string_view mounts = kControlGroups);

}  // namespace memstat::events
