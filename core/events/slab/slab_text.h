// SPDX-License-Identifier: BSD-2-Clause
// What the programs counted (bpf/slab_layout.h) as the text that the source linux_slab_events parses and captures hold.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/base/buffer.h"
#include "core/events/attach/governor.h"
#include "core/events/bpf/slab_layout.h"

namespace memstat::events {

/// What stands in the text beside the rows. Thread safety: a plain value.
struct SlabTextFacts {
  bool has_kmalloc_frees = false;  ///< kfree() is counted; else what it frees is not known by cache.
  bool is_counted_by_sysfs =
      false;                        ///< The kernel counts allocations itself (CONFIG_SLUB_STATS): linux_slab_sysfs has them.
  std::uint64_t missed_events = 0;  ///< That found the programs busy on their CPU.
  bool has_gfp_classes = false;     ///< And by class of their GFP flags.
  bool has_sizes = false;           ///< Allocations by size are counted, too.
  std::optional<GovernorFacts> governor = {};  ///< Detached: the text has no figures. Nothing: there is none.
};

/// Appends the name of the cache that serves kmalloc() of this size, in B, and kind, of MEMSTAT_SLAB_KINDS
/// (mm/slab_common.c, kmalloc_info).
void append_kmalloc_name(Buffer& out, std::uint64_t size, std::uint64_t kind);

/// Allocations and frees so far, of all caches and of none, as the governor counts them. Thread safety: as
/// write_slab_text().
std::uint64_t count_slab_events(const memstat_slab_slots& shared, std::span<const memstat_slab_cpu> cpus);

/// Writes the table into `out`, replacing what it held; core/README.md has the grammar. `cpus`: a CPU each, from 0 on. The
/// kernel may write while this reads: each figure is whole, their sum is of no one moment. Allocates nothing once `out` is
/// large enough. Thread safety: none for `out`.
void write_slab_text(const memstat_slab_slots& shared, std::span<const memstat_slab_cpu> cpus, const SlabTextFacts& facts,
                     Buffer& out);

}  // namespace memstat::events
