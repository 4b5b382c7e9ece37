// SPDX-License-Identifier: BSD-2-Clause
// The walk over Linux's control groups: finds the hierarchy that has the memory controller, and reads its files of the
// groups near the root. Which groups there are may change between any two reads.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/fixed_path.h"
#include "core/base/result.h"
#include "core/kernel/kernel_view.h"

namespace memstat {

/// Below it hierarchies are looked for: nothing else stays within reach of a daemon that has locked itself in.
inline constexpr std::string_view kControlGroupDirectory = "/sys/fs/cgroup";

/// The kernel's count of processes that were killed for want of memory.
inline constexpr std::string_view kGroupKillsFile = "/proc/vmstat";

/// Any limit from here on is none: version 1 prints the most pages that a counter holds as bytes, which is 2^63 rounded down
/// to a page, and 2^63 - 1 before 3.19. No page is larger than a megabyte.
inline constexpr std::uint64_t kNoGroupLimit = (std::uint64_t{1} << 63U) - (std::uint64_t{1} << 20U);

/// Which groups are read, and what of them.
struct ControlGroupBounds {
  std::uint64_t depth = 0;        ///< Levels below the root; 0: the root only.
  std::uint64_t most_groups = 0;  ///< Those nearest to the root, then by name; what is seen beyond is counted.
  bool has_parts = true;          ///< Whether memory.stat, memory.kmem.*, and files of pressure and swap are read.
  /// Whether a path is wanted; null or empty: all are. Groups below one that is not wanted may be. Borrowed.
  const std::function<bool(std::string_view)>* matches = nullptr;
};

/// Where the groups are, and what they have, since looking for what is not there costs an error each time. Found once.
struct ControlGroupHierarchy {
  FixedPath root;  ///< Empty: not known yet.
  bool is_version_1 = false;
  bool has_tasks = false;    ///< Version 2: the controller pids is there, too.
  bool has_more = false;     ///< Version 1: kernel memory is accounted. Version 2: the root is a group, as in a container.
  std::uint32_t absent = 0;  ///< A bit for each file of pressure, swap and the like that no group had.
};

/// What a walk remembers, kept by the caller from read to read so that the steady state allocates nothing.
struct ControlGroupState {
  ControlGroupHierarchy hierarchy;
  std::uint32_t reads = 0;             ///< So far.
  Buffer last;                         ///< The bundle before: what seldom changes is taken from it.
  std::optional<std::uint64_t> kills;  ///< Of the whole machine, at the read before.
  bool were_kills_same = false;        ///< They were as at the read before that.
  bool are_kills_new = true;           ///< Some may not have been seen in their groups yet.
  // Of one walk; what they hold between two is unspecified.
  Buffer file;         ///< One file.
  Buffer directories;  ///< Names below one group, each with a NUL.
  Buffer queue;        ///< Groups to visit, each with a NUL.
  std::vector<std::string_view> names;
};

/// Reads all groups within the bounds, level by level, in each level by name, into `bundle`, for FileBundleReader. First
/// comes a record with the path of the hierarchy's root and "1\n" or "2\n", its version; then the files, group by group,
/// with their paths below that root ("/user.slice/memory.current"); at last, as a sign that nothing is missing, a record
/// without name with the number of groups left out ("0\n"). A group that goes away meanwhile is passed over; one that may
/// not be read is left out, and counted. Limits are read when may_leave_out() says so, and with them, in version 1, what
/// only a limit sets going (memory.failcnt, memory.kmem.tcp.usage_in_bytes). Between, those of groups that were there at the
/// previous read keep their values. Pressure, swap and other slowly changing files are read for a part of the groups each
/// time, for all within kReadsBetweenLooks reads (in version 1 limits and hits of memory and swap, and hits of kernel
/// memory, within twice as many). So is what a group's memory is made of (memory.stat, and in version 1
/// memory.kmem.usage_in_bytes); of half of the groups, by turns, it is also read whenever a group's usage or its hits of
/// bounds are not byte for byte as at the read before. memory.oom_control of version 1 is also read when the kernel has
/// counted a kill at this read or the one before. Errors: kNotPresent where no hierarchy has the memory controller, and
/// those of KernelView, when the bundle holds anything. Throws std::bad_alloc. Thread safety: none for the same state.
Result<void> read_control_groups(KernelView& view, const ControlGroupBounds& bounds, ControlGroupState& state,
                                 Buffer& bundle);

}  // namespace memstat
