// SPDX-License-Identifier: BSD-2-Clause
#include "core/events/slab_text.h"

#include <array>
#include <string_view>

#include "core/base/arithmetic.h"
#include "core/events/table_text.h"

namespace memstat::events {
namespace {

/// The name of the cache that serves kmalloc() of this size and kind (mm/slab_common.c, kmalloc_info).
void append_kmalloc_name(Buffer& out, std::uint64_t key) {
  constexpr std::array<std::string_view, MEMSTAT_SLAB_KINDS> kPrefixes{"kmalloc-", "kmalloc-rcl-", "kmalloc-cg-",
                                                                       "dma-kmalloc-"};
  const std::uint64_t size = key / MEMSTAT_SLAB_KINDS;
  out.append(kPrefixes[key % MEMSTAT_SLAB_KINDS]);
  append_number(out, size >= 1024 ? size / 1024 : size);
  if (size >= 1024) out.append("k");
}

/// The figures of one slot on one CPU, or of all.
struct Sums {
  std::uint64_t allocations = 0;
  std::uint64_t frees = 0;
  std::uint64_t requested_bytes = 0;
  std::uint64_t failures = 0;
};

Sums sums_of(const memstat_slab_row& row, const memstat_slab_slot& slot) {
  const std::uint64_t from_cache = figure_now(row.cache_allocations);
  return {
      .allocations = from_cache + figure_now(row.kmalloc_allocations),
      .frees = figure_now(row.cache_frees) + figure_now(row.kmalloc_frees),
      .requested_bytes = saturating_sum(saturating_product(from_cache, slot.object_size), figure_now(row.kmalloc_requested)),
      .failures = figure_now(row.cache_failures) + figure_now(row.kmalloc_failures)};
}

}  // namespace

void write_slab_text(const memstat_slab_slots& shared, std::span<const memstat_slab_cpu> cpus, const SlabTextFacts& facts,
                     Buffer& out) {
  out.clear();
  out.append("slab_events 1\n");
  append_line(out, "kmalloc_frees", facts.has_kmalloc_frees ? 1 : 0);
  append_line(out, "counted_by_sysfs", facts.is_counted_by_sysfs ? 1 : 0);
  append_line(out, "unplaced", figure_now(shared.unplaced_events));
  append_line(out, "missed", facts.missed_events);
  for (std::size_t at = 0; at < MEMSTAT_SLAB_SLOTS; ++at) {
    const std::uint64_t key = figure_now(shared.keys[at]);
    const memstat_slab_slot& slot = shared.slots[at];
    if (key <= MEMSTAT_SLAB_FORGOTTEN || __atomic_load_n(&slot.is_known, __ATOMIC_ACQUIRE) == 0) continue;
    const bool is_by_size = key >> 32U == 0;
    if (!is_by_size && slot.name[0] == '\0') continue;  // the name could not be read
    // Of a kmalloc() that failed the kernel names no cache, so where frees are known this row has failures only.
    out.append(is_by_size && !facts.has_kmalloc_frees ? "type_without_frees " : "type ");
    append_number(out, slot.size);
    out.append(" ");
    if (is_by_size) {
      append_kmalloc_name(out, key);
    } else {
      append_kernel_name(out, slot.name, sizeof slot.name);
    }
    out.append("\n");
    for (std::size_t cpu = 0; cpu < cpus.size(); ++cpu) {
      const Sums sums = sums_of(cpus[cpu].rows[at], slot);
      if (sums.allocations == 0 && sums.frees == 0 && sums.failures == 0) continue;
      out.append("cpu");
      for (const std::uint64_t number :
           {std::uint64_t{cpu}, sums.allocations, sums.frees, sums.requested_bytes, sums.failures}) {
        out.append(" ");
        append_number(out, number);
      }
      out.append("\n");
    }
  }
  out.append("end\n");
}

}  // namespace memstat::events
