// SPDX-License-Identifier: BSD-2-Clause
#include "core/events/vm/vm_rows.h"

#include "core/base/arithmetic.h"

namespace memstat::events {
namespace {

using Kind = VmEventWord::Kind;
constexpr std::array<VmEventWord, MEMSTAT_VM_EVENTS> kWords{{
#define MEMSTAT_VM_WORD(NAME, word, kind) {word, Kind::k##kind},
    MEMSTAT_VM_EVENT_LIST(MEMSTAT_VM_WORD)
#undef MEMSTAT_VM_WORD
}};

void add_names(TableWriter& rows, const memstat_vm_names& all, std::string_view word, std::string_view word_of_others) {
  for (const memstat_vm_name& name : all.names) {
    if (__atomic_load_n(&name.state, __ATOMIC_ACQUIRE) != 2 || name.name[0] == '\0') continue;
    rows.add(word, {figure_now(name.count)}, {kernel_name(name.name, sizeof name.name)});
  }
  if (const std::uint64_t others = figure_now(all.others); others != 0) rows.add(word_of_others, {others});
}

/// Counts of an event besides its own counter, on one CPU.
std::uint64_t more_faults(memstat_vm_event event, const memstat_vm_cpu& cpu) {
  if (event == MEMSTAT_VM_FAULT_READ) return figure_now(cpu.user_faults[0]) + figure_now(cpu.kernel_faults[0]);
  if (event == MEMSTAT_VM_FAULT_WRITE) return figure_now(cpu.user_faults[1]) + figure_now(cpu.kernel_faults[1]);
  return 0;
}

void add_event(TableWriter& rows, memstat_vm_event event, std::span<const memstat_vm_cpu> cpus, const VmFacts& facts) {
  const VmEventWord& word = kWords[event];
  const bool is_fault = word.kind == Kind::kFault;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < cpus.size(); ++i) {
    const std::uint64_t of_cpu = figure_now(cpus[i].events[event].count) + more_faults(event, cpus[i]);
    count = saturating_sum(count, of_cpu);
    bytes = saturating_sum(bytes, figure_now(cpus[i].events[event].bytes));
    if (facts.has_cpus && of_cpu != 0) rows.add(is_fault ? "cpu_fault" : "cpu_event", {i, of_cpu}, {word.word});
  }
  if (event == MEMSTAT_VM_FAULT_MINOR) count = saturating_sum(count, facts.minor_faults);
  if (event == MEMSTAT_VM_FAULT_MAJOR) count = saturating_sum(count, facts.major_faults);
  const bool has_bytes = word.kind == Kind::kBytes && (event != MEMSTAT_VM_BRK || facts.has_brk_length);
  const std::array numbers{count, bytes};
  rows.add(is_fault ? "fault" : "event", std::span(numbers).first(has_bytes ? 2 : 1), {word.word});
}

/// Durations of page faults with one outcome.
void add_times(TableWriter& rows, memstat_vm_event event, std::span<const memstat_vm_cpu> cpus) {
  std::array<std::uint64_t, 1 + MEMSTAT_TIMES> numbers{};
  std::uint64_t& sum_ns = numbers[0];
  for (const memstat_vm_cpu& cpu : cpus) {
    const memstat_vm_times& times = cpu.fault_times[event - MEMSTAT_VM_TIME_MINOR];
    sum_ns = saturating_sum(sum_ns, figure_now(times.sum_ns));
    for (std::size_t i = 0; i < MEMSTAT_TIMES; ++i)
      numbers[1 + i] = saturating_sum(numbers[1 + i], figure_now(times.counts[i]));
  }
  rows.add("fault_times", numbers, {kWords[event].word});
}

/// Omits orders and migrate types without requests.
void add_pages(TableWriter& rows, std::span<const memstat_vm_cpu> cpus, const VmFacts& facts) {
  for (std::size_t order = 0; order < MEMSTAT_VM_ORDERS; ++order) {
    std::uint64_t failures = 0;
    for (const memstat_vm_cpu& cpu : cpus) failures += figure_now(cpu.page_failures[order]);
    for (std::size_t type = 0; type < MEMSTAT_VM_MIGRATE_TYPES; ++type) {
      std::uint64_t count = 0;
      for (const memstat_vm_cpu& cpu : cpus) count += figure_now(cpu.pages[order][type]);
      if (count == 0) continue;
      const std::string& word = facts.migrate_types[type];
      rows.add("pages", {order, count}, {word.empty() ? "unknown" : std::string_view(word)});
    }
    if (failures != 0) rows.add("page_failures", {order, failures});
  }
}

/// Allocations of one allocator by size, if enabled.
void add_sizes_of(TableWriter& rows, std::string_view allocator, memstat_vm_event event,
                  std::span<const memstat_vm_cpu> cpus, const VmFacts& facts) {
  if (!facts.counted[event]) return;
  std::array<std::uint64_t, MEMSTAT_SIZES> counts{};
  std::uint64_t bytes = 0;
  for (const memstat_vm_cpu& cpu : cpus) {
    bytes = saturating_sum(bytes, figure_now(cpu.events[event].bytes));
    for (std::size_t order = 0; event == MEMSTAT_VM_PAGE_ALLOC && order < MEMSTAT_VM_ORDERS; ++order) {
      for (const unsigned long long& pages : cpu.pages[order]) {
        counts[memstat_size_bucket(facts.page_size << order)] += figure_now(pages);
      }
    }
    for (std::size_t i = 0; event != MEMSTAT_VM_PAGE_ALLOC && i < MEMSTAT_SIZES; ++i) {
      counts[i] += figure_now(event == MEMSTAT_VM_VMALLOC ? cpu.vmalloc_sizes[i] : cpu.percpu_sizes[i]);
    }
  }
  add_sizes(rows, allocator, bytes, counts);
}

void add_gfp_classes(TableWriter& rows, std::span<const memstat_vm_cpu> cpus) {
  memstat_gfp_counts sums{};
  for (const memstat_vm_cpu& cpu : cpus) add_gfp_counts(cpu.pages_by_gfp, sums);
  add_gfp_rows(rows, "page", sums);
}

}  // namespace

std::uint64_t count_vm_events(std::span<const memstat_vm_cpu> cpus) {
  std::uint64_t count = 0;
  for (const memstat_vm_cpu& cpu : cpus) {
    for (std::size_t event = 0; event < MEMSTAT_VM_EVENTS; ++event) {
      const bool is_outcome = event >= MEMSTAT_VM_FAULT_MINOR && event <= MEMSTAT_VM_FAULT_SIGBUS;
      if (is_outcome) continue;  // of a fault that is counted by its access
      count += figure_now(cpu.events[event].count) + more_faults(static_cast<memstat_vm_event>(event), cpu);
    }
  }
  return count;
}

const VmEventWord& word_of(memstat_vm_event event) { return kWords[event]; }

std::string name_of(memstat_vm_event event) {
  return (kWords[event].kind == Kind::kTimes ? "seconds of " : "") + std::string(kWords[event].word);
}

void write_vm_rows(const memstat_vm_shared& shared, std::span<const memstat_vm_cpu> cpus, const VmFacts& facts,
                   Buffer& out) {
  TableWriter rows(kVmTable, out);
  rows.add("missed", {facts.missed_events});
  rows.add("by_cache", {std::uint64_t{facts.has_cache_failures}});
  if (facts.governor) add_governor(rows, *facts.governor);
  for (const std::string& reason : facts.unsupported) rows.add("unsupported", std::span<const std::uint64_t>(), {reason});
  bool has_times = false;
  for (std::size_t i = 0; i < MEMSTAT_VM_EVENTS; ++i) {
    const auto event = static_cast<memstat_vm_event>(i);
    if (!facts.counted[event]) continue;
    const bool is_timed = kWords[event].kind == Kind::kTimes;
    has_times = has_times || is_timed;
    if (is_timed) {
      add_times(rows, event, cpus);
    } else {
      add_event(rows, event, cpus, facts);
    }
  }
  if (has_times) {
    std::uint64_t untimed = 0;
    for (const memstat_vm_cpu& cpu : cpus) untimed += figure_now(cpu.untimed_faults);
    rows.add("untimed", {untimed});
  }
  if (facts.has_pages) add_pages(rows, cpus, facts);
  if (facts.has_pages && facts.has_gfp_classes) add_gfp_classes(rows, cpus);
  if (facts.has_sizes) {
    add_sizes_of(rows, "page", MEMSTAT_VM_PAGE_ALLOC, cpus, facts);
    add_sizes_of(rows, "percpu", MEMSTAT_VM_PERCPU_ALLOC, cpus, facts);
    add_sizes_of(rows, "vmalloc", MEMSTAT_VM_VMALLOC, cpus, facts);
  }
  if (facts.has_victims) add_names(rows, shared.victims, "victim", "other_victim");
  if (facts.has_cache_failures) add_names(rows, shared.caches, "cache", "other_cache");
}

}  // namespace memstat::events
