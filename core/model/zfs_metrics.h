// SPDX-License-Identifier: BSD-2-Clause
// The ARC, the cache of OpenZFS, as FreeBSD and Linux report it. On Linux no line of /proc/meminfo counts it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/model/staging.h"
#include "core/model/system_metric.h"

namespace memstat {

inline constexpr SystemMetric kArcBytes =
    gauge_metric("memstat_zfs_arc_bytes", Tier::kDefault, "Bytes that the ARC, the cache of ZFS, holds now.");

inline constexpr SystemMetric kArcTargetBytes = gauge_metric("memstat_zfs_arc_target_bytes", Tier::kDefault,
                                                             "Target size of the ARC in bytes now; a larger ARC shrinks.");

inline constexpr SystemMetric kArcMinBytes = gauge_metric("memstat_zfs_arc_min_bytes", Tier::kDefault,
                                                          "Minimum size of the ARC in bytes, even when memory is short.");

/// Bytes, as the kernel names them. Nothing: not reported.
struct ArcStats {
  std::optional<std::uint64_t> size;
  std::optional<std::uint64_t> target;     ///< c
  std::optional<std::uint64_t> minimum;    ///< c_min
  std::optional<std::uint64_t> evictable;  ///< of both lists, data and metadata; since OpenZFS 0.7
};

/// Reads /proc/spl/kstat/zfs/arcstats: two lines of headings, then "NAME TYPE NUMBER" (module/os/linux/spl/spl-kstat.c).
ArcStats read_arcstats(std::string_view text);

/// Stages what is reported. Returns the bytes that the ARC can give back: above its minimum, and not in use.
std::uint64_t add_arc(const ArcStats& arc, StagedStatistics& statistics);

}  // namespace memstat
