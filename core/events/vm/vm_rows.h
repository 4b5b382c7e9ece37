// SPDX-License-Identifier: BSD-2-Clause
// Converts the programs' counts (bpf/vm_layout.h) to the table of the source linux_vm_events.
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

/// An event's word in the table, and what it has besides a count.
struct VmEventWord {
  /// kBytes: a size; kFault: a kind of page fault; kTimes: durations of page faults.
  enum class Kind : std::uint8_t { kCount, kBytes, kFault, kTimes };
  std::string_view word;
  Kind kind = Kind::kCount;
};
/// Of an event below MEMSTAT_VM_EVENTS.
const VmEventWord& word_of(memstat_vm_event event);
/// The word; for durations "seconds of WORD". Used in messages.
std::string name_of(memstat_vm_event event);

/// Header of the table.
struct VmFacts {
  std::bitset<MEMSTAT_VM_EVENTS> counted;  ///< Events available in this kernel; the others have no line.
  std::vector<std::string> unsupported;    ///< "EVENT: REASON".
  bool has_cache_failures = false;         ///< By cache; no other source has them.
  bool has_victims = false;                ///< By command.
  bool has_brk_length = true;              ///< False: from the system call, brk()'s length is unknown.
  bool has_sizes = false;                  ///< Allocations by size, for the allocators that are counted.
  bool has_cpus = false;                   ///< Counts per CPU.
  bool has_gfp_classes = false;            ///< Pages by GFP class, if pages are counted.
  bool has_pages = false;                  ///< Page allocations by order and migrate type.
  std::array<std::string, MEMSTAT_VM_MIGRATE_TYPES> migrate_types;  ///< Names by number; "": unused.
  std::uint64_t page_size = 4096;                                   ///< B
  std::uint64_t minor_faults = 0;              ///< Counted by the kernel, in addition to the programs' count.
  std::uint64_t major_faults = 0;              ///< Counted by the kernel, in addition to the programs' count.
  std::uint64_t missed_events = 0;             ///< Events missed because the programs were already running on that CPU.
  std::optional<GovernorFacts> governor = {};  ///< Present if frequent events are counted, too.
};

inline constexpr RowFormat kVmRows[] = {{"missed", "n"},
                                        {"by_cache", "n"},
                                        kGovernorRow,
                                        {"unsupported", "t"},
                                        kEventRow,
                                        {"fault", "wn", 64},
                                        {"cpu_event", "wnn"},
                                        {"cpu_fault", "wnn"},
                                        {"fault_times", "wn*", 8},
                                        {"untimed", "n", 1},
                                        {"pages", "nwn", 128},
                                        {"page_failures", "nn", 16},
                                        kGfpRow,
                                        kSizesRow,
                                        {"victim", "nt", 64},
                                        {"other_victim", "n"},
                                        {"cache", "nt"},
                                        {"other_cache", "n"}};
/// The grammar is in sources/linux_vm_events.cpp.
inline constexpr TableFormat kVmTable{"linux_vm_events", "vm_events 1", kVmRows,
                                      "is neither an event nor a name with its count"};

/// Frequent events so far, each counted once, for the governor. Thread safety: as write_vm_rows().
std::uint64_t count_vm_events(std::span<const memstat_vm_cpu> cpus);

/// Replaces the content of `out` with the table. `cpus`: one per CPU. The kernel may write at the same time: each
/// figure is intact, but they are not from a single moment. Does not allocate once `out` is large enough. Thread
/// safety: none for `out`.
void write_vm_rows(const memstat_vm_shared& shared, std::span<const memstat_vm_cpu> cpus, const VmFacts& facts, Buffer& out);

}  // namespace memstat::events
