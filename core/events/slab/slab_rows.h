// SPDX-License-Identifier: BSD-2-Clause
// Converts the programs' counts (bpf/slab_layout.h) to the table of the source linux_slab_events.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/base/buffer.h"
#include "core/events/attach/governor.h"
#include "core/events/bpf/slab_layout.h"

namespace memstat::events {

/// Header of the table.
struct SlabFacts {
  bool has_kmalloc_frees = false;  ///< kfree() is counted; otherwise the cache from which it frees is unknown.
  bool is_counted_by_sysfs =
      false;  ///< The kernel counts allocations itself (CONFIG_SLUB_STATS), and linux_slab_sysfs reports them.
  std::uint64_t missed_events = 0;             ///< Events missed because the programs were already running on that CPU.
  bool has_gfp_classes = false;                ///< Allocations by GFP class are counted.
  bool has_sizes = false;                      ///< Allocations by size are counted.
  std::optional<GovernorFacts> governor = {};  ///< Detached: the table has no figures. Empty: no governor.
};

inline constexpr RowFormat kSlabRows[] = {{"kmalloc_frees", "n"},
                                          {"counted_by_sysfs", "n"},
                                          {"unplaced", "n"},
                                          {"missed", "n"},
                                          kGovernorRow,
                                          {"type", "nt"},
                                          {"type_without_frees", "nt"},
                                          {"cpu", "nnnnn"},
                                          kEventRow,
                                          {"large", "nn"},
                                          kGfpRow,
                                          kSizesRow};
/// The grammar is in sources/linux_slab_events.cpp.
inline constexpr TableFormat kSlabTable{"linux_slab_events", "slab_events 1", kSlabRows,
                                        "is not a type with its size, a CPU with its five numbers, or an event"};

/// The name of the kmalloc() cache for this size in B and this kind, of MEMSTAT_SLAB_KINDS (mm/slab_common.c,
/// kmalloc_info). Short enough for a string without allocation.
std::string kmalloc_name(std::uint64_t size, std::uint64_t kind);

/// Allocations and frees so far, with and without a cache, for the governor. Thread safety: as write_slab_rows().
std::uint64_t count_slab_events(const memstat_slab_slots& shared, std::span<const memstat_slab_cpu> cpus);

/// Replaces the content of `out` with the table. `cpus`: one per CPU, from 0 on. The kernel may write at the same time:
/// each figure is intact, but they are not from a single moment. Does not allocate once `out` is large enough. Thread
/// safety: none for `out`.
void write_slab_rows(const memstat_slab_slots& shared, std::span<const memstat_slab_cpu> cpus, const SlabFacts& facts,
                     Buffer& out);

}  // namespace memstat::events
