// SPDX-License-Identifier: BSD-2-Clause
// Where the control groups with a memory controller are, and the names of files that differ between the two versions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/buffer.h"
#include "core/base/fixed_path.h"
#include "core/base/result.h"
#include "core/kernel/kernel_view.h"

namespace memstat {

/// Hierarchies are looked for below this directory. The sandbox allows no other.
inline constexpr std::string_view kControlGroupDirectory = "/sys/fs/cgroup";

/// The location of the groups and the files that they have. Found once, because each attempt to open a missing file is slow.
struct ControlGroupHierarchy {
  FixedPath root;  ///< empty: not found yet
  bool is_version_1 = false;
  bool has_tasks = false;    ///< version 2: the controller pids is available, too
  bool has_more = false;     ///< version 1: kernel memory is accounted; version 2: the root is a group, as in a container
  bool has_peaks = false;    ///< a group had the file with its highest usage
  std::uint32_t absent = 0;  ///< a bit for each slow file that no group has
};

/// Limits from this value on mean no limit. Version 1 prints the largest page counter in bytes, 2^63 rounded down to a page;
/// before 3.19 it prints 2^63 - 1. No page is larger than a megabyte.
inline constexpr std::uint64_t kNoGroupLimit = (std::uint64_t{1} << 63U) - (std::uint64_t{1} << 20U);

/// The files that say how much a group uses, how much it may use, and how many processes were killed in it.
struct GroupUsageFiles {
  std::string_view usage;
  std::string_view limit;
  std::string_view kills;
};
inline constexpr GroupUsageFiles kUsageFiles2{"memory.current", "memory.max", "memory.events"};
inline constexpr GroupUsageFiles kUsageFiles1{"memory.usage_in_bytes", "memory.limit_in_bytes", "memory.oom_control"};

/// A group's limit in the content of its file; kNoGroupLimit if there is none or it is malformed.
std::uint64_t group_limit_in(std::string_view content);
/// The processes that were killed for lack of memory, in the content of a group's file or of /proc/vmstat (4.13).
std::optional<std::uint64_t> kills_in(std::string_view content);

inline constexpr std::string_view kKernelUsage1 = "memory.kmem.usage_in_bytes";

/// Whether the file exists. Returns errors other than kNotPresent. `content`: what it has.
Result<bool> has_group_file(KernelView& view, std::string_view directory, std::string_view file, Buffer& content);

/// Finds the hierarchy with the memory controller, which belongs to one at a time and may be mounted in several places.
/// `file` and `directories` are scratch space. Error: kNotPresent if there is none.
Result<void> find_hierarchy(KernelView& view, ControlGroupHierarchy& hierarchy, Buffer& file, Buffer& directories);

/// Whether groups below this one (version 2) can have a memory controller. Captures may lack the file that says so. `file`
/// is scratch space.
Result<bool> has_memory_below(KernelView& view, std::string_view group, Buffer& file);

}  // namespace memstat
