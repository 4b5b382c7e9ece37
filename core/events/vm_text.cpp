// SPDX-License-Identifier: BSD-2-Clause
#include "core/events/vm_text.h"

#include <array>

#include "core/base/arithmetic.h"
#include "core/events/table_text.h"

namespace memstat::events {
namespace {

constexpr std::array<VmEventWord, MEMSTAT_VM_EVENTS> kWords{{
    {"oom_kill"},
    {"slab_failure"},
    {"page_failure"},
    {"percpu_failure", true},
    {"vmalloc_failure", true},
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
    if (!facts.counted[event]) continue;
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
    for (const memstat_vm_cpu& cpu : cpus) {
      count = saturating_sum(count, figure_now(cpu.events[event].count));
      bytes = saturating_sum(bytes, figure_now(cpu.events[event].bytes));
    }
    out.append("event ");
    out.append(kWords[event].word);
    out.append(" ");
    append_number(out, count);
    if (kWords[event].has_bytes) {
      out.append(" ");
      append_number(out, bytes);
    }
    out.append("\n");
  }
  if (facts.has_victims) write_names(shared.victims, "victim", out);
  if (facts.has_cache_failures) write_names(shared.caches, "cache", out);
  out.append("end\n");
}

}  // namespace memstat::events
