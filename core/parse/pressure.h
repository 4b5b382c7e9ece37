// SPDX-License-Identifier: BSD-2-Clause
// Pressure stall information in the format of /proc/pressure/* and memory.pressure (kernel/sched/psi.c, psi_show):
//
//   some avg10=0.00 avg60=0.00 avg300=0.00 total=0
//   full avg10=0.00 avg60=0.00 avg300=0.00 total=0
//
// total is in microseconds since boot, or since the group was created. The averages are ignored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace memstat {

/// Microseconds; nothing if the text has no such line.
struct Pressure {
  std::optional<std::uint64_t> some;
  std::optional<std::uint64_t> full;
};

/// Fills `pressure`. Returns the offset of the first line that is truncated or has no total; nothing on success. Skips other
/// lines. Allocates nothing.
std::optional<std::size_t> read_pressure(std::string_view text, Pressure& pressure);

}  // namespace memstat
