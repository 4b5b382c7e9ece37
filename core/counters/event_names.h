// SPDX-License-Identifier: BSD-2-Clause
// Names of the events that Linux itself defines, the parsing of event strings, and the sets of events that memstatd counts
// on CPUs: the value of the configuration's key `counters`, and the default set. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/counters/counter_system.h"

namespace memstat::counters {

/// A name with its meaning.
struct NamedEvent {
  std::string name;
  std::string description;
  EventCode code;
};

/// The kernel's events by their names in perf(1): software events (PERF_TYPE_SOFTWARE) and those of every CPU
/// (PERF_TYPE_HARDWARE, PERF_TYPE_HW_CACHE).
const std::vector<NamedEvent>& kernel_events();

/// Page table walks for the data TLB. The kernel has no generic number for them, so each kind of CPU has its own event.
inline constexpr std::string_view kPageWalks = "dTLB-walks";

/// A name with the same meaning on every machine, and its kernel event.
struct GenericName {
  std::string_view name;
  std::string_view event;
};
/// PAPI's names in Solaris's spelling, for events that the kernel has.
std::span<const GenericName> generic_names();

/// The kernel event of this name or generic name; nullptr if there is none.
const NamedEvent* find_kernel_event(std::string_view name);

/// Parses "rHEX" with 1 to 16 digits.
std::optional<std::uint64_t> parse_raw_code(std::string_view text);

/// The parts of "sched:sched_switch". Empty: another form, or a path that could leave its directory.
struct TracepointName {
  std::string_view group;
  std::string_view name;
};
std::optional<TracepointName> parse_tracepoint(std::string_view text);

/// "cpu/event=0xa8,umask=1,edge/": a PMU and its terms, up to 64. A term without a value is 1.
struct PmuEvent {
  struct Term {
    std::string_view name;
    std::uint64_t value = 1;
    bool has_value = false;
  };
  std::string_view pmu;
  std::vector<Term> terms;
};
/// Empty: another form.
std::optional<PmuEvent> parse_pmu_event(std::string_view text);

/// Sets the bits of `value` at the places given by a file in /sys/bus/event_source/devices/PMU/format:
/// "config1:0-7,16". Fails if it is malformed, or if the value has too many bits.
enum class Placement : std::uint8_t { kDone, kMalformed, kTooLarge };
Placement place_bits(std::string_view format, std::uint64_t value, EventCode& code);

/// Up to three names that are most similar to `wanted`, nearest first.
std::vector<std::string> nearest_names(std::string_view wanted, std::span<const EventInfo> known);

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
