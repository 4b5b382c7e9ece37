// SPDX-License-Identifier: BSD-2-Clause
#include "core/events/slab/slab_rows.h"

#include <array>
#include <string_view>

#include "core/base/arithmetic.h"

namespace memstat::events {
namespace {

/// The figures of one slot on one CPU or on all CPUs.
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

/// Totals over all caches, and of allocations without a cache.
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

/// Includes slots of destroyed caches, so that the totals never shrink.
Events events_of(const memstat_slab_slots& shared, std::span<const memstat_slab_cpu> cpus) {
  Events events;
  for (const memstat_slab_cpu& cpu : cpus) add_totals(cpu.totals, events);
  for (std::size_t at = 0; at < MEMSTAT_SLAB_SLOTS; ++at) {
    if (figure_now(shared.keys[at]) == 0) continue;
    for (const memstat_slab_cpu& cpu : cpus) add_row(cpu.rows[at], shared.slots[at], events);
  }
  return events;
}

void add_events(TableWriter& rows, const memstat_slab_slots& shared, std::span<const memstat_slab_cpu> cpus,
                const SlabFacts& facts) {
  const Events events = events_of(shared, cpus);
  rows.add("event", {events.cache_allocations, events.cache_requested}, {"kmem_cache_alloc"});
  rows.add("event", {events.cache_on_node}, {"kmem_cache_alloc_node"});
  rows.add("event", {events.cache_failures}, {"kmem_cache_alloc_failure"});
  rows.add("event", {events.cache_frees}, {"kmem_cache_free"});
  rows.add("event", {events.kmallocs, events.kmalloc_requested}, {"kmalloc"});
  rows.add("event", {events.kmalloc_on_node}, {"kmalloc_node"});
  rows.add("event", {events.kmalloc_failures}, {"kmalloc_failure"});
  if (facts.has_kmalloc_frees) rows.add("event", {events.kfrees}, {"kfree"});
  for (std::size_t i = 0; i < MEMSTAT_SLAB_LARGE_SIZES; ++i) {
    if (events.large[i] != 0) rows.add("large", {std::uint64_t{2 * MEMSTAT_SLAB_LARGEST} << i, events.large[i]});
  }
  if (facts.has_gfp_classes) {
    memstat_gfp_counts sums{};
    for (const memstat_slab_cpu& cpu : cpus) {
      add_gfp_counts(cpu.totals.cache_by_gfp, sums);
      add_gfp_counts(cpu.totals.kmalloc_by_gfp, sums);
    }
    add_gfp_rows(rows, "slab", sums);
  }
  if (facts.has_sizes) {
    add_sizes(rows, "slab", saturating_sum(events.cache_requested, events.kmalloc_requested), events.sizes);
  }
}

void add_caches(TableWriter& rows, const memstat_slab_slots& shared, std::span<const memstat_slab_cpu> cpus,
                const SlabFacts& facts) {
  std::string name_by_size;
  for (std::size_t at = 0; at < MEMSTAT_SLAB_SLOTS; ++at) {
    const std::uint64_t key = figure_now(shared.keys[at]);
    const memstat_slab_slot& slot = shared.slots[at];
    if (key <= MEMSTAT_SLAB_FORGOTTEN || __atomic_load_n(&slot.is_known, __ATOMIC_ACQUIRE) == 0) continue;
    const bool is_by_size = key >> 32U == 0;
    if (!is_by_size && slot.name[0] == '\0') continue;  // the name was unreadable
    std::string_view name = kernel_name(slot.name, sizeof slot.name);
    if (is_by_size) {
      name_by_size = kmalloc_name(key / MEMSTAT_SLAB_KINDS, key % MEMSTAT_SLAB_KINDS);
      name = name_by_size;
    }
    // For a failed kmalloc() the kernel reports no cache. So where frees are known, this row has only failures.
    rows.add(is_by_size && !facts.has_kmalloc_frees ? "type_without_frees" : "type", {slot.size}, {name});
    for (std::size_t cpu = 0; cpu < cpus.size(); ++cpu) {
      const Sums sums = sums_of(cpus[cpu].rows[at], slot);
      if (sums.allocations == 0 && sums.frees == 0 && sums.failures == 0) continue;
      rows.add("cpu", {cpu, sums.allocations, sums.frees, sums.requested_bytes, sums.failures});
    }
  }
}

}  // namespace

std::string kmalloc_name(std::uint64_t size, std::uint64_t kind) {
  constexpr std::array<const char*, MEMSTAT_SLAB_KINDS> kPrefixes{"kmalloc-", "kmalloc-rcl-", "kmalloc-cg-", "dma-kmalloc-"};
  return kPrefixes[kind % MEMSTAT_SLAB_KINDS] + (size >= 1024 ? std::to_string(size / 1024) + "k" : std::to_string(size));
}

std::uint64_t count_slab_events(const memstat_slab_slots& shared, std::span<const memstat_slab_cpu> cpus) {
  const Events events = events_of(shared, cpus);
  return events.cache_allocations + events.cache_frees + events.kmallocs + events.kfrees;
}

void write_slab_rows(const memstat_slab_slots& shared, std::span<const memstat_slab_cpu> cpus, const SlabFacts& facts,
                     Buffer& out) {
  TableWriter rows(kSlabTable, out);
  rows.add("kmalloc_frees", {std::uint64_t{facts.has_kmalloc_frees}});
  rows.add("counted_by_sysfs", {std::uint64_t{facts.is_counted_by_sysfs}});
  rows.add("unplaced", {figure_now(shared.unplaced_events)});
  rows.add("missed", {facts.missed_events});
  if (facts.governor) add_governor(rows, *facts.governor);
  if (facts.governor && !facts.governor->is_attached) return;
  add_caches(rows, shared, cpus, facts);
  add_events(rows, shared, cpus, facts);
}

}  // namespace memstat::events
