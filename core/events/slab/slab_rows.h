// SPDX-License-Identifier: BSD-2-Clause
// What the programs counted (bpf/slab_layout.h) as the table that the source linux_slab_events reads.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/base/buffer.h"
#include "core/events/attach/governor.h"
#include "core/events/bpf/slab_layout.h"

namespace memstat::events {

/// Header fields of the table. Thread safety: a plain value.
struct SlabFacts {
  bool has_kmalloc_frees = false;  ///< kfree() is counted; else what it frees is not known by cache.
  bool is_counted_by_sysfs =
      false;                        ///< The kernel counts allocations itself (CONFIG_SLUB_STATS): linux_slab_sysfs has them.
  std::uint64_t missed_events = 0;  ///< That found the programs busy on their CPU.
  bool has_gfp_classes = false;     ///< And by class of their GFP flags.
  bool has_sizes = false;           ///< Allocations by size are counted, too.
  std::optional<GovernorFacts> governor = {};  ///< Detached: the table has no figures. Nothing: there is none.
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
/// sources/linux_slab_events.cpp has the grammar.
inline constexpr TableFormat kSlabTable{"linux_slab_events", "slab_events 1", kSlabRows,
                                        "is no type with its size, CPU with its five numbers, or event"};

/// The name of the cache that serves kmalloc() of this size, in B, and kind, of MEMSTAT_SLAB_KINDS (mm/slab_common.c,
/// kmalloc_info). It is short enough for a string that allocates nothing.
std::string kmalloc_name(std::uint64_t size, std::uint64_t kind);

/// Allocations and frees so far, of all caches and of none, as the governor counts them. Thread safety: as
/// write_slab_rows().
std::uint64_t count_slab_events(const memstat_slab_slots& shared, std::span<const memstat_slab_cpu> cpus);

/// Writes the table into `out`, replacing what it held. `cpus`: a CPU each, from 0 on. The
/// kernel may write while this reads: each figure is whole, their sum is of no one moment. Allocates nothing once `out` is
/// large enough. Thread safety: none for `out`.
void write_slab_rows(const memstat_slab_slots& shared, std::span<const memstat_slab_cpu> cpus, const SlabFacts& facts,
                     Buffer& out);

}  // namespace memstat::events
