// SPDX-License-Identifier: BSD-2-Clause
// The sets of events that memstatd counts on CPUs: how key `counters` of the configuration arrives, and the default set.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace memstat::counters {

/// Events that are counted together on each of some CPUs. Thread safety: a plain value.
struct CounterSet {
  std::string name;
  std::string cpus;  ///< "all", or a list in the kernel's notation: "0-3,6".
  std::vector<std::string> events;
};

/// The events of set `memory` where the configuration names none, with blanks between: misses of the last-level cache and of
/// the data TLB, walks of page tables, minor and major faults, context switches, and moves of threads to another CPU.
inline constexpr std::string_view kMemoryEvents =
    "cache-misses dTLB-load-misses dTLB-walks minor-faults major-faults context-switches cpu-migrations";

/// The sets in `text`, a line each: NAME CPUS EVENT... Lines with fewer than three words are skipped: the configuration,
/// which wrote them, has none.
std::vector<CounterSet> parse_counter_sets(std::string_view text);

/// Why the configuration cannot name this event, "" when it can: what no machine has is a slip, and the nearest names are
/// given. Tracepoints, raw codes and names of a CPU's own events may be another machine's that has the same file: what this
/// one lacks is left out when memstatd starts.
std::string problem_with_event(std::string_view event);

}  // namespace memstat::counters
