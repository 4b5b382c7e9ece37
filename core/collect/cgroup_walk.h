// SPDX-License-Identifier: BSD-2-Clause
// Finds the control group hierarchy with the memory controller, and reads the memory files of the groups near its root.
// Groups may come and go between any two reads.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/fixed_path.h"
#include "core/base/peak_watch.h"
#include "core/base/result.h"
#include "core/kernel/kernel_view.h"

namespace memstat {

/// Hierarchies are looked for below this directory. The sandbox allows no other.
inline constexpr std::string_view kControlGroupDirectory = "/sys/fs/cgroup";

/// Has the kernel's count of processes killed for lack of memory.
inline constexpr std::string_view kGroupKillsFile = "/proc/vmstat";

/// Limits from this value on mean no limit. Version 1 prints the largest page counter in bytes, 2^63 rounded down to a page;
/// before 3.19 it prints 2^63 - 1. No page is larger than a megabyte.
inline constexpr std::uint64_t kNoGroupLimit = (std::uint64_t{1} << 63U) - (std::uint64_t{1} << 20U);

/// The groups to read, and their files.
struct ControlGroupBounds {
  std::uint64_t depth = 0;        ///< levels below the root; 0: only the root
  std::uint64_t most_groups = 0;  ///< the first in order; groups beyond are counted as left out
  bool has_parts = true;          ///< also read memory.stat, memory.kmem.*, and files of pressure and swap
  /// Selects groups by path; null or empty: all. Groups below a group that does not match may match. Borrowed.
  const std::function<bool(std::string_view)>* matches = nullptr;
};

/// The location of the groups and the files that they have. Found once, because each attempt to open a missing file is slow.
struct ControlGroupHierarchy {
  FixedPath root;  ///< empty: not found yet
  bool is_version_1 = false;
  bool has_tasks = false;    ///< version 2: the controller pids is available, too
  bool has_more = false;     ///< version 1: kernel memory is accounted; version 2: the root is a group, as in a container
  bool has_peaks = false;    ///< a group had the file with its highest usage
  std::uint32_t absent = 0;  ///< a bit for each slow file that no group has
};

/// State kept between reads, so that the steady state allocates nothing.
struct ControlGroupState {
  ControlGroupHierarchy hierarchy;
  std::uint32_t reads = 0;             ///< so far
  Buffer last;                         ///< the previous bundle, from which files are repeated
  std::optional<std::uint64_t> kills;  ///< kills on the whole machine, at the previous read
  bool were_kills_same = false;        ///< since the read before the previous one
  bool are_kills_new = true;           ///< some may not be visible in their groups yet
  Buffer queue;                        ///< groups to visit as last listed, each with a NUL
  std::uint64_t unlisted = 0;          ///< groups that the last listing left out
  std::uint64_t set = 0;               ///< KernelView::group_generation() at the previous read
  std::uint64_t listed_set = 0;        ///< the set that the last listing has; 0: not known
  // Scratch space of one walk, unspecified between walks.
  Buffer file;         ///< one file
  Buffer directories;  ///< names of the groups below one group, each with a NUL
  std::vector<std::string_view> names;
  PeakWatch peak;           ///< peak size of the bundle
  bool has_limits = false;  ///< some group of the previous walk has a limit
};

/// Reads all groups within the bounds into `bundle`, for FileBundleReader: level by level, each level sorted by name.
/// The first record is the path of the hierarchy's root with its version, "1\n" or "2\n". The files follow, group by group,
/// named by their path below that root ("/user.slice/memory.current"). The last record has no name, and the number of groups
/// left out ("0\n"); it shows that nothing is missing. A group that disappears during the walk is skipped. A group that may
/// not be read is left out and counted.
/// Files that change slowly are not read each time; between reads they keep their previous content:
/// * Limits: when may_skip() is false.
/// * Pressure, swap and the like: for a share of the groups each time, for all groups within kSeldomReads reads. The
///   parts of a group's memory (memory.stat, in version 1 also memory.kmem.usage_in_bytes) too, if the group has a limit.
/// * The parts of a group without a limit: within twice as many reads. In version 1 also limits and failures of
///   memory.memsw and memory.kmem, and what moves only with a limit: memory.failcnt and memory.kmem.tcp.usage_in_bytes.
/// * The highest usage (memory.peak since 5.19, memory.max_usage_in_bytes) of a group with a limit: at the first read, and
///   when the kernel has counted a kill at this read or the previous one (4.13).
/// * memory.oom_control of version 1: as pressure; and whenever the kernel has counted a kill at this read or the previous
///   one.
///   The first kMaxTight groups that have nine tenths of a limit in use, and whose usage changed, are an exception:
///   their memory.stat is read each time, because cache that programs replace does not show in the usage.
/// * memory.min: within kReadsOfProtection reads, because hardly anybody sets it.
/// * A group without a limit whose usage was the same for eight reads: its usage at every second read, and the rest at every
///   sixteenth, until the usage changes or the kernel counts a kill.
/// New groups are seen within two reads. Directories are not listed while the view reports that the groups are the same.
/// Errors: kNotPresent if no hierarchy has the memory controller, and those of KernelView, with an incomplete bundle. Throws
/// std::bad_alloc.
Result<void> read_control_groups(KernelView& view, const ControlGroupBounds& bounds, ControlGroupState& state,
                                 Buffer& bundle);

}  // namespace memstat
