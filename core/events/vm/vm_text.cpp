// SPDX-License-Identifier: BSD-2-Clause
#include "core/events/vm/vm_text.h"

#include <array>

#include "core/base/arithmetic.h"
#include "core/events/table/table_text.h"

namespace memstat::events {
namespace {

using Kind = VmEventWord::Kind;
constexpr std::array<VmEventWord, MEMSTAT_VM_EVENTS> kWords{{
    {"oom_kill"},
    {"slab_failure"},
    {"page_failure"},
    {"percpu_failure", Kind::kBytes},
    {"vmalloc_failure", Kind::kBytes},
    {"read", Kind::kFault},
    {"write", Kind::kFault},
    {"minor", Kind::kFault},
    {"major", Kind::kFault},
    {"oom", Kind::kFault},
    {"sigbus", Kind::kFault},
    {"write_shared"},
    {"write_shared_copy"},
    {"mmap", Kind::kBytes},
    {"munmap", Kind::kBytes},
    {"brk", Kind::kBytes},
    {"page_alloc", Kind::kBytes},
    {"page_free", Kind::kBytes},
    {"percpu_alloc", Kind::kBytes},
    {"percpu_free"},
    {"vmalloc", Kind::kBytes},
    {"vfree"},
    {"minor", Kind::kTimes},
    {"major", Kind::kTimes},
    {"oom", Kind::kTimes},
    {"sigbus", Kind::kTimes},
}};

void write_names(const memstat_vm_names& all, std::string_view word, Buffer& out) {
  for (const memstat_vm_name& name : all.names) {
    if (__atomic_load_n(&name.state, __ATOMIC_ACQUIRE) != 2 || name.name[0] == '\0') continue;
    out.append(word);
    out.append(" ");
    append_number(out, figure_now(name.count));
    out.append(" ");
    append_kernel_name(out, name.name, sizeof name.name);
    out.append("\n");
  }
  if (const std::uint64_t others = figure_now(all.others); others != 0) {
    out.append("other_");
    append_line(out, word, others);
  }
}

/// What there is of an event beside its own counter, on one CPU.
std::uint64_t more_faults(memstat_vm_event event, const memstat_vm_cpu& cpu) {
  if (event == MEMSTAT_VM_FAULT_READ) return figure_now(cpu.user_faults[0]) + figure_now(cpu.kernel_faults[0]);
  if (event == MEMSTAT_VM_FAULT_WRITE) return figure_now(cpu.user_faults[1]) + figure_now(cpu.kernel_faults[1]);
  return 0;
}

void write_event(memstat_vm_event event, std::span<const memstat_vm_cpu> cpus, const VmTextFacts& facts, Buffer& out) {
  const VmEventWord& word = kWords[event];
  const bool is_fault = word.kind == Kind::kFault;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < cpus.size(); ++i) {
    const std::uint64_t of_cpu = figure_now(cpus[i].events[event].count) + more_faults(event, cpus[i]);
    count = saturating_sum(count, of_cpu);
    bytes = saturating_sum(bytes, figure_now(cpus[i].events[event].bytes));
    if (facts.has_cpus && of_cpu != 0) {
      out.append(is_fault ? "cpu_fault " : "cpu_event ");
      out.append(word.word);
      append_numbers(out, std::array<std::uint64_t, 2>{i, of_cpu});
      out.append("\n");
    }
  }
  if (event == MEMSTAT_VM_FAULT_MINOR) count = saturating_sum(count, facts.minor_faults);
  if (event == MEMSTAT_VM_FAULT_MAJOR) count = saturating_sum(count, facts.major_faults);
  out.append(is_fault ? "fault " : "event ");
  out.append(word.word);
  out.append(" ");
  append_number(out, count);
  if (word.kind == Kind::kBytes && (event != MEMSTAT_VM_BRK || facts.has_brk_length)) {
    out.append(" ");
    append_number(out, bytes);
  }
  out.append("\n");
}

/// How long page faults of one outcome took.
void write_times(memstat_vm_event event, std::span<const memstat_vm_cpu> cpus, Buffer& out) {
  std::array<std::uint64_t, MEMSTAT_TIMES> counts{};
  std::uint64_t sum_ns = 0;
  for (const memstat_vm_cpu& cpu : cpus) {
    const memstat_vm_times& times = cpu.fault_times[event - MEMSTAT_VM_TIME_MINOR];
    sum_ns = saturating_sum(sum_ns, figure_now(times.sum_ns));
    for (std::size_t i = 0; i < MEMSTAT_TIMES; ++i) counts[i] = saturating_sum(counts[i], figure_now(times.counts[i]));
  }
  out.append("fault_times ");
  out.append(kWords[event].word);
  out.append(" ");
  append_number(out, sum_ns);
  append_numbers(out, counts);
  out.append("\n");
}

/// Orders and kinds that were never asked for have no line.
void write_pages(std::span<const memstat_vm_cpu> cpus, const VmTextFacts& facts, Buffer& out) {
  for (std::size_t order = 0; order < MEMSTAT_VM_ORDERS; ++order) {
    std::uint64_t failures = 0;
    for (const memstat_vm_cpu& cpu : cpus) failures += figure_now(cpu.page_failures[order]);
    for (std::size_t type = 0; type < MEMSTAT_VM_MIGRATE_TYPES; ++type) {
      std::uint64_t count = 0;
      for (const memstat_vm_cpu& cpu : cpus) count += figure_now(cpu.pages[order][type]);
      if (count == 0) continue;
      out.append("pages ");
      append_number(out, order);
      out.append(" ");
      out.append(facts.migrate_types[type].empty() ? "unknown" : std::string_view(facts.migrate_types[type]));
      out.append(" ");
      append_number(out, count);
      out.append("\n");
    }
    if (failures == 0) continue;
    out.append("page_failures ");
    append_number(out, order);
    out.append(" ");
    append_number(out, failures);
    out.append("\n");
  }
}

/// Allocations of one allocator by size, where they are counted.
void write_sizes(std::string_view allocator, memstat_vm_event event, std::span<const memstat_vm_cpu> cpus,
                 const VmTextFacts& facts, Buffer& out) {
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
  append_sizes(out, allocator, bytes, counts);
}

void write_gfp_classes(std::span<const memstat_vm_cpu> cpus, Buffer& out) {
  memstat_gfp_counts sums{};
  for (const memstat_vm_cpu& cpu : cpus) add_gfp_counts(cpu.pages_by_gfp, sums);
  append_gfp_counts(out, "page", sums);
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

void write_vm_text(const memstat_vm_shared& shared, std::span<const memstat_vm_cpu> cpus, const VmTextFacts& facts,
                   Buffer& out) {
  out.clear();
  out.append("vm_events 1\n");
  append_line(out, "missed", facts.missed_events);
  append_line(out, "by_cache", facts.has_cache_failures ? 1 : 0);
  if (facts.governor) append_governor(out, *facts.governor);
  out.append(facts.unsupported);
  bool has_times = false;
  for (std::size_t event = 0; event < MEMSTAT_VM_EVENTS; ++event) {
    if (!facts.counted[event]) continue;
    const bool is_timed = kWords[event].kind == Kind::kTimes;
    has_times = has_times || is_timed;
    if (is_timed) {
      write_times(static_cast<memstat_vm_event>(event), cpus, out);
    } else {
      write_event(static_cast<memstat_vm_event>(event), cpus, facts, out);
    }
  }
  if (has_times) {
    std::uint64_t untimed = 0;
    for (const memstat_vm_cpu& cpu : cpus) untimed += figure_now(cpu.untimed_faults);
    append_line(out, "untimed", untimed);
  }
  if (facts.has_pages) write_pages(cpus, facts, out);
  if (facts.has_pages && facts.has_gfp_classes) write_gfp_classes(cpus, out);
  if (facts.has_sizes) {
    write_sizes("page", MEMSTAT_VM_PAGE_ALLOC, cpus, facts, out);
    write_sizes("percpu", MEMSTAT_VM_PERCPU_ALLOC, cpus, facts, out);
    write_sizes("vmalloc", MEMSTAT_VM_VMALLOC, cpus, facts, out);
  }
  if (facts.has_victims) write_names(shared.victims, "victim", out);
  if (facts.has_cache_failures) write_names(shared.caches, "cache", out);
  out.append("end\n");
}

}  // namespace memstat::events
