// SPDX-License-Identifier: BSD-2-Clause
#include "core/events/vm_text.h"

#include <array>

#include "core/base/arithmetic.h"
#include "core/events/table_text.h"

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
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  for (const memstat_vm_cpu& cpu : cpus) {
    count = saturating_sum(count, figure_now(cpu.events[event].count) + more_faults(event, cpu));
    bytes = saturating_sum(bytes, figure_now(cpu.events[event].bytes));
  }
  if (event == MEMSTAT_VM_FAULT_MINOR) count = saturating_sum(count, facts.minor_faults);
  if (event == MEMSTAT_VM_FAULT_MAJOR) count = saturating_sum(count, facts.major_faults);
  const VmEventWord& word = kWords[event];
  out.append(word.kind == Kind::kFault ? "fault " : "event ");
  out.append(word.word);
  out.append(" ");
  append_number(out, count);
  if (word.kind == Kind::kBytes && (event != MEMSTAT_VM_BRK || facts.has_brk_length)) {
    out.append(" ");
    append_number(out, bytes);
  }
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

}  // namespace

const VmEventWord& word_of(memstat_vm_event event) { return kWords[event]; }

void write_vm_text(const memstat_vm_shared& shared, std::span<const memstat_vm_cpu> cpus, const VmTextFacts& facts,
                   Buffer& out) {
  out.clear();
  out.append("vm_events 1\n");
  append_line(out, "missed", facts.missed_events);
  append_line(out, "by_cache", facts.has_cache_failures ? 1 : 0);
  out.append(facts.unsupported);
  for (std::size_t event = 0; event < MEMSTAT_VM_EVENTS; ++event) {
    if (facts.counted[event]) write_event(static_cast<memstat_vm_event>(event), cpus, facts, out);
  }
  if (facts.has_pages) write_pages(cpus, facts, out);
  if (facts.has_victims) write_names(shared.victims, "victim", out);
  if (facts.has_cache_failures) write_names(shared.caches, "cache", out);
  out.append("end\n");
}

}  // namespace memstat::events
