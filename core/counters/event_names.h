// SPDX-License-Identifier: BSD-2-Clause
// Names of the events that Linux itself knows, and the reading of event strings: pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/counters/counter_system.h"

namespace memstat::counters {

/// A name with what it stands for.
struct NamedEvent {
  std::string name;
  std::string description;
  EventCode code;
};

/// The kernel's events: of software (PERF_TYPE_SOFTWARE), of every CPU (PERF_TYPE_HARDWARE, PERF_TYPE_HW_CACHE), by their
/// names in perf(1). Thread safety: a constant.
const std::vector<NamedEvent>& kernel_events();

/// Walks of page tables for the data TLB. The kernel has no number for them, so each kind of CPU has an event of its own.
inline constexpr std::string_view kPageWalks = "dTLB-walks";

/// A name that means one thing on every machine, and the kernel event that it stands for.
struct GenericName {
  std::string_view name;
  std::string_view event;
};
/// PAPI's names as Solaris spelled them, as far as the kernel has such an event.
std::span<const GenericName> generic_names();

/// The kernel event of that name, generic names included; nullptr when there is none.
const NamedEvent* find_kernel_event(std::string_view name);

/// The code of "rHEX": 1 to 16 digits.
std::optional<std::uint64_t> parse_raw_code(std::string_view text);

/// "sched:sched_switch" in its two parts. Nothing: it is not of this form, or could leave its directory as a path.
struct TracepointName {
  std::string_view group;
  std::string_view name;
};
std::optional<TracepointName> parse_tracepoint(std::string_view text);

/// "cpu/event=0xa8,umask=1,edge/": a PMU and its terms. A term without a value is 1. At most 64 terms.
struct PmuEvent {
  struct Term {
    std::string_view name;
    std::uint64_t value = 1;
    bool has_value = false;
  };
  std::string_view pmu;
  std::vector<Term> terms;
};
/// Nothing: it is not of this form.
std::optional<PmuEvent> parse_pmu_event(std::string_view text);

/// A number as people write it: decimal, or hexadecimal after 0x.
std::optional<std::uint64_t> parse_number(std::string_view text);

/// Where the bits of a term go, from a file of /sys/bus/event_source/devices/PMU/format: "config1:0-7,16".
/// Sets the bits of `value` there. False: malformed, or the value has more bits than there is room.
enum class Placement : std::uint8_t { kDone, kMalformed, kTooLarge };
Placement place_bits(std::string_view format, std::uint64_t value, EventCode& code);

/// The names most like `wanted`, nearest first, at most three; none that is not alike.
std::vector<std::string> nearest_names(std::string_view wanted, std::span<const EventInfo> known);

}  // namespace memstat::counters
