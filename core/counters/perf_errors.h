// SPDX-License-Identifier: BSD-2-Clause
// The meaning of each errno of perf_event_open(2) for the caller, with advice.
#pragma once

#include <cstdint>
#include <optional>

#include "core/counters/counter_system.h"
#include "core/kernel/kernel_view.h"

namespace memstat::counters {

/// The settings and privileges that determine whether this process may count.
struct PerfPermissions {
  std::optional<std::int64_t> paranoid;  ///< /proc/sys/kernel/perf_event_paranoid; empty: unreadable.
  bool is_capable = false;               ///< CAP_PERFMON or CAP_SYS_ADMIN is effective (CapEff of /proc/self/status).
  bool is_filtered = false;              ///< A seccomp filter is active (Seccomp in /proc/self/status).
};
PerfPermissions read_perf_permissions(KernelView& view);

/// Why `request` on `target` failed with `system_errno`.
Refused explain_perf_error(int system_errno, const Request& request, const Target& target,
                           const PerfPermissions& permissions);

}  // namespace memstat::counters
