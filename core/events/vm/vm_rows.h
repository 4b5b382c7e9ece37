// SPDX-License-Identifier: BSD-2-Clause
// What the programs counted (bpf/vm_layout.h) as the table that the source linux_vm_events reads.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/buffer.h"
#include "core/events/attach/governor.h"
#include "core/events/bpf/vm_layout.h"

namespace memstat::events {

/// How an event is called, and what else there is to it.
struct VmEventWord {
  /// kBytes: with a size; kFault: a kind of page fault; kTimes: how long these took.
  enum class Kind : std::uint8_t { kCount, kBytes, kFault, kTimes };
  std::string_view word;
  Kind kind = Kind::kCount;
};
/// Of an event below MEMSTAT_VM_EVENTS.
const VmEventWord& word_of(memstat_vm_event event);
/// The word, and of times "seconds of WORD", as reasons have it.
std::string name_of(memstat_vm_event event);

/// Header fields of the table. Thread safety: a plain value.
struct VmFacts {
  std::bitset<MEMSTAT_VM_EVENTS> counted;  ///< Events that this kernel gives; the others have no line.
  std::vector<std::string> unsupported;    ///< "EVENT: REASON".
  bool has_cache_failures = false;         ///< By name of the cache, and no other source has them.
  bool has_victims = false;                ///< By name of the command.
  bool has_brk_length = true;              ///< Where system calls are seen, brk()'s length is not known.
  bool has_sizes = false;                  ///< Allocations by size, of the allocators that are counted.
  bool has_cpus = false;                   ///< Counts of each CPU, too.
  bool has_gfp_classes = false;            ///< Pages by class of their GFP flags, where they are counted.
  bool has_pages = false;                  ///< Page allocations by order and migrate type.
  std::array<std::string, MEMSTAT_VM_MIGRATE_TYPES> migrate_types;  ///< Their words; "": there is none of this number.
  std::uint64_t page_size = 4096;                                   ///< B
  std::uint64_t minor_faults = 0;              ///< That the kernel counted, beside what the programs did.
  std::uint64_t major_faults = 0;              ///< The same.
  std::uint64_t missed_events = 0;             ///< That found the programs busy on their CPU.
  std::optional<GovernorFacts> governor = {};  ///< Where frequent events are counted, too.
};

inline constexpr RowFormat kVmRows[] = {{"missed", "n"},
                                        {"by_cache", "n"},
                                        kGovernorRow,
                                        {"unsupported", "t"},
                                        kEventRow,
                                        {"fault", "wn"},
                                        {"cpu_event", "wnn"},
                                        {"cpu_fault", "wnn"},
                                        {"fault_times", "wn*"},
                                        {"untimed", "n"},
                                        {"pages", "nwn"},
                                        {"page_failures", "nn"},
                                        kGfpRow,
                                        kSizesRow,
                                        {"victim", "nt"},
                                        {"other_victim", "n"},
                                        {"cache", "nt"},
                                        {"other_cache", "n"}};
/// sources/linux_vm_events.cpp has the grammar.
inline constexpr TableFormat kVmTable{"linux_vm_events", "vm_events 1", kVmRows,
                                      "is neither an event nor a name with its count"};

/// Events so far that programs on frequent events saw, each once. Thread safety: as write_vm_rows().
std::uint64_t count_vm_events(std::span<const memstat_vm_cpu> cpus);

/// Writes the table into `out`, replacing what it held. `cpus`: a CPU each. The
/// kernel may write while this reads: each figure is whole, their sum is of no one moment. Allocates nothing once `out` is
/// large enough. Thread safety: none for `out`.
void write_vm_rows(const memstat_vm_shared& shared, std::span<const memstat_vm_cpu> cpus, const VmFacts& facts, Buffer& out);

}  // namespace memstat::events
