// SPDX-License-Identifier: BSD-2-Clause
#include "core/events/slab/slab_text.h"

#include <array>
#include <string_view>

#include "core/base/arithmetic.h"
#include "core/events/table/table_text.h"

namespace memstat::events {
namespace {

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

/// What all caches, and what is no cache's, come to.
struct Events {
  std::uint64_t cache_allocations = 0;
  std::uint64_t cache_requested = 0;  // B
  std::uint64_t cache_failures = 0;
  std::uint64_t cache_frees = 0;
  std::uint64_t cache_on_node = 0;
  std::uint64_t kmallocs = 0;
  std::uint64_t kmalloc_requested = 0;  // B
  std::uint64_t kmalloc_failures = 0;
  std::uint64_t kmalloc_on_node = 0;
  std::uint64_t kfrees = 0;
  std::array<std::uint64_t, MEMSTAT_SLAB_LARGE_SIZES> large{};
  std::array<std::uint64_t, MEMSTAT_SIZES> sizes{};
};

void add_row(const memstat_slab_row& row, const memstat_slab_slot& slot, Events& events) {
  const std::uint64_t from_cache = figure_now(row.cache_allocations);
  events.cache_allocations += from_cache;
  events.cache_requested = saturating_sum(events.cache_requested, saturating_product(from_cache, slot.object_size));
  events.sizes[memstat_size_bucket(slot.object_size)] += from_cache;
  events.cache_failures += figure_now(row.cache_failures);
  events.cache_frees += figure_now(row.cache_frees);
  events.kmallocs += figure_now(row.kmalloc_allocations);
  events.kmalloc_requested = saturating_sum(events.kmalloc_requested, figure_now(row.kmalloc_requested));
  events.kmalloc_failures += figure_now(row.kmalloc_failures);
  events.kfrees += figure_now(row.kmalloc_frees);
}

void add_totals(const memstat_slab_totals& totals, Events& events) {
  events.cache_on_node += figure_now(totals.cache_on_node);
  events.kmalloc_on_node += figure_now(totals.kmalloc_on_node);
  events.kmalloc_requested = saturating_sum(events.kmalloc_requested, figure_now(totals.large_requested));
  events.kmalloc_failures += figure_now(totals.large_failures);
  events.kfrees += figure_now(totals.large_frees);
  for (std::size_t i = 0; i < MEMSTAT_SLAB_LARGE_SIZES; ++i) {
    const std::uint64_t count = figure_now(totals.large_allocations[i]);
    events.large[i] += count;
    events.kmallocs += count;
  }
  for (std::size_t i = 0; i < MEMSTAT_SIZES; ++i) events.sizes[i] += figure_now(totals.kmalloc_sizes[i]);
}

void append_event(Buffer& out, std::string_view event, std::uint64_t count, std::uint64_t bytes) {
  out.append("event ");
  out.append(event);
  out.append(" ");
  append_number(out, count);
  out.append(" ");
  append_number(out, bytes);
  out.append("\n");
}

void append_event(Buffer& out, std::string_view event, std::uint64_t count) {
  out.append("event ");
  append_line(out, event, count);
}

/// Slots are counted whatever became of their caches, so that these only grow.
Events events_of(const memstat_slab_slots& shared, std::span<const memstat_slab_cpu> cpus) {
  Events events;
  for (const memstat_slab_cpu& cpu : cpus) add_totals(cpu.totals, events);
  for (std::size_t at = 0; at < MEMSTAT_SLAB_SLOTS; ++at) {
    if (figure_now(shared.keys[at]) == 0) continue;
    for (const memstat_slab_cpu& cpu : cpus) add_row(cpu.rows[at], shared.slots[at], events);
  }
  return events;
}

void append_events(Buffer& out, const memstat_slab_slots& shared, std::span<const memstat_slab_cpu> cpus,
                   const SlabTextFacts& facts) {
  const Events events = events_of(shared, cpus);
  append_event(out, "kmem_cache_alloc", events.cache_allocations, events.cache_requested);
  append_event(out, "kmem_cache_alloc_node", events.cache_on_node);
  append_event(out, "kmem_cache_alloc_failure", events.cache_failures);
  append_event(out, "kmem_cache_free", events.cache_frees);
  append_event(out, "kmalloc", events.kmallocs, events.kmalloc_requested);
  append_event(out, "kmalloc_node", events.kmalloc_on_node);
  append_event(out, "kmalloc_failure", events.kmalloc_failures);
  if (facts.has_kmalloc_frees) append_event(out, "kfree", events.kfrees);
  for (std::size_t i = 0; i < MEMSTAT_SLAB_LARGE_SIZES; ++i) {
    if (events.large[i] == 0) continue;
    out.append("large ");
    append_number(out, std::uint64_t{2 * MEMSTAT_SLAB_LARGEST} << i);
    out.append(" ");
    append_number(out, events.large[i]);
    out.append("\n");
  }
  if (facts.has_gfp_classes) {
    memstat_gfp_counts sums{};
    for (const memstat_slab_cpu& cpu : cpus) {
      add_gfp_counts(cpu.totals.cache_by_gfp, sums);
      add_gfp_counts(cpu.totals.kmalloc_by_gfp, sums);
    }
    append_gfp_counts(out, "slab", sums);
  }
  if (facts.has_sizes) {
    append_sizes(out, "slab", saturating_sum(events.cache_requested, events.kmalloc_requested), events.sizes);
  }
}

void append_caches(Buffer& out, const memstat_slab_slots& shared, std::span<const memstat_slab_cpu> cpus,
                   const SlabTextFacts& facts) {
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
      append_kmalloc_name(out, key / MEMSTAT_SLAB_KINDS, key % MEMSTAT_SLAB_KINDS);
    } else {
      append_kernel_name(out, slot.name, sizeof slot.name);
    }
    out.append("\n");
    for (std::size_t cpu = 0; cpu < cpus.size(); ++cpu) {
      const Sums sums = sums_of(cpus[cpu].rows[at], slot);
      if (sums.allocations == 0 && sums.frees == 0 && sums.failures == 0) continue;
      append_row(out, "cpu", {cpu, sums.allocations, sums.frees, sums.requested_bytes, sums.failures});
    }
  }
}

}  // namespace

void append_kmalloc_name(Buffer& out, std::uint64_t size, std::uint64_t kind) {
  constexpr std::array<std::string_view, MEMSTAT_SLAB_KINDS> kPrefixes{"kmalloc-", "kmalloc-rcl-", "kmalloc-cg-",
                                                                       "dma-kmalloc-"};
  out.append(kPrefixes[kind % MEMSTAT_SLAB_KINDS]);
  append_number(out, size >= 1024 ? size / 1024 : size);
  if (size >= 1024) out.append("k");
}

std::uint64_t count_slab_events(const memstat_slab_slots& shared, std::span<const memstat_slab_cpu> cpus) {
  const Events events = events_of(shared, cpus);
  return events.cache_allocations + events.cache_frees + events.kmallocs + events.kfrees;
}

void write_slab_text(const memstat_slab_slots& shared, std::span<const memstat_slab_cpu> cpus, const SlabTextFacts& facts,
                     Buffer& out) {
  out.clear();
  out.append("slab_events 1\n");
  append_line(out, "kmalloc_frees", facts.has_kmalloc_frees ? 1 : 0);
  append_line(out, "counted_by_sysfs", facts.is_counted_by_sysfs ? 1 : 0);
  append_line(out, "unplaced", figure_now(shared.unplaced_events));
  append_line(out, "missed", facts.missed_events);
  if (facts.governor) append_governor(out, *facts.governor);
  if (!facts.governor || facts.governor->is_attached) {
    append_caches(out, shared, cpus, facts);
    append_events(out, shared, cpus, facts);
  }
  out.append("end\n");
}

}  // namespace memstat::events
