// SPDX-License-Identifier: BSD-2-Clause
// Where a program of the kernel that is loaded already is attached, in plain bytes that can go to another process.
#pragma once

#include <array>
#include <cstdint>

namespace memstat::events {

/// Thread safety: a plain value.
struct AttachPoint {
  enum Kind : std::uint32_t {
    kRawTracepoint = 1,  ///< `name`
    kTracing = 2,        ///< The function that the program was loaded for.
    kPerfEvent = 3,  ///< One of perf_event_open(2): `type`, `config`, `period`, `cpu` and, of a probe, the function `name`.
  };
  std::uint32_t kind = 0;
  std::int32_t cpu = 0;
  std::uint32_t type = 0;
  std::uint32_t period = 0;
  std::uint64_t config = 0;
  std::array<char, 64> name{};  ///< Ends with a NUL; "": there is none.
};

/// Attaches a loaded program, which takes CAP_BPF and CAP_PERFMON. Returns the descriptor with which it goes again, the
/// caller's to close, or a negative errno: EINVAL for what is no such point. Allocates nothing. Thread safety: safe.
int attach_program(int program, const AttachPoint& point);

}  // namespace memstat::events
