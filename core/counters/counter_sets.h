// SPDX-License-Identifier: BSD-2-Clause
// The sets of events that memstatd counts on CPUs: the value of the configuration's key `counters`, and the default
// set.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace memstat::counters {

/// Events that are counted together on each of some CPUs.
struct CounterSet {
  std::string name;
  std::string cpus;  ///< "all", or a list in the kernel's notation: "0-3,6".
  std::vector<std::string> events;
};

/// The default events of set `memory`, separated by blanks: misses of the last-level cache and of the data TLB, page
/// table walks, minor and major faults, context switches, and migrations of threads to another CPU.
inline constexpr std::string_view kMemoryEvents =
    "cache-misses dTLB-load-misses dTLB-walks minor-faults major-faults context-switches cpu-migrations";

/// Parses the sets, a line each: NAME CPUS EVENT... Skips lines with fewer than three words, which the configuration
/// never writes.
std::vector<CounterSet> parse_counter_sets(std::string_view text);

/// Why the configuration cannot name this event; "" if it can. Names that no machine has are misspellings, and the
/// message suggests similar ones. Tracepoints, raw codes and CPU-specific names may belong to another machine with the
/// same file; memstatd omits those that this one lacks at start.
std::string problem_with_event(std::string_view event);

}  // namespace memstat::counters
