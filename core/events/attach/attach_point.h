// SPDX-License-Identifier: BSD-2-Clause
// The attach point of a loaded BPF program, as plain bytes that can be sent to another process.
#pragma once

#include <array>
#include <cstdint>

namespace memstat::events {

/// Where a program is attached.
struct AttachPoint {
  enum Kind : std::uint32_t {
    kRawTracepoint = 1,  ///< `name`
    kTracing = 2,        ///< The function that the program was loaded for.
    kPerfEvent =
        3,  ///< A perf_event_open(2) event: `type`, `config`, `period`, `cpu` and, for a probe, the function in `name`.
  };
  std::uint32_t kind = 0;
  std::int32_t cpu = 0;
  std::uint32_t type = 0;
  std::uint32_t period = 0;
  std::uint64_t config = 0;
  std::array<char, 64> name{};  ///< NUL-terminated; "" if unused.
};

/// Attaches a loaded program. Needs CAP_BPF and CAP_PERFMON. Returns a descriptor, which the caller closes to detach,
/// or a negative errno: EINVAL for an invalid point. Does not allocate.
int attach_program(int program, const AttachPoint& point);

}  // namespace memstat::events
