// SPDX-License-Identifier: BSD-2-Clause
// Names of the events that Linux itself defines, and the parsing of event strings. Pure.
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

}  // namespace memstat::counters
