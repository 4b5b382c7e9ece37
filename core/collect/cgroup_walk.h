// SPDX-License-Identifier: BSD-2-Clause
// Reads the memory files of the control groups that matter most. Groups may come and go between any two reads.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/buffer.h"
#include "core/base/peak_watch.h"
#include "core/base/result.h"
#include "core/collect/group_survey.h"
#include "core/kernel/kernel_view.h"

namespace memstat {

/// Has the kernel's count of processes killed for lack of memory.
inline constexpr std::string_view kGroupKillsFile = "/proc/vmstat";

/// State kept between reads, so that the steady state allocates nothing.
struct ControlGroupState {
  ControlGroupHierarchy hierarchy;
  std::uint32_t reads = 0;             ///< so far
  Buffer last;                         ///< the previous bundle, from which files are repeated
  std::optional<std::uint64_t> kills;  ///< kills on the whole machine, at the previous read
  bool were_kills_same = false;        ///< since the read before the previous one
  bool are_kills_new = true;           ///< some may not be visible in their groups yet
  GroupSurveyState survey;
  GroupsLeftOut left_out;  ///< of this read
  // Scratch space of one walk, unspecified between walks.
  Buffer file;              ///< one file
  PeakWatch peak;           ///< peak size of the bundle
  bool has_limits = false;  ///< some group of the previous walk has a limit
};

/// Reads the chosen groups within the bounds into `bundle`, for FileBundleReader: level by level, each level sorted by name.
/// The first record is the path of the hierarchy's root with its version, "1\n" or "2\n". The files follow, group by group,
/// named by their path below that root ("/user.slice/memory.current"). The last record is empty; it shows that nothing is
/// missing. A group that disappears during the walk is skipped. A group that may not be read is left out and counted.
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
/// Which groups there are, and which are chosen: GroupSurvey.
/// Errors: kNotPresent if no hierarchy has the memory controller, and those of KernelView, with an incomplete bundle. Throws
/// std::bad_alloc.
Result<void> read_control_groups(KernelView& view, const ControlGroupBounds& bounds, ControlGroupState& state,
                                 Buffer& bundle);

}  // namespace memstat
