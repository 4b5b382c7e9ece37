// SPDX-License-Identifier: BSD-2-Clause
// A set that counts on Linux: groups of perf events, a read of a group being one system call.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/counters/counter_system.h"
#include "core/counters/perf_errors.h"
#include "core/counters/perf_event.h"

namespace memstat::counters {

/// Opens the events of `requests` for the given threads (of a CPU target: none) and begins to count. Requests that do not
/// fit one group are put into several, unless the target wants exactness. Requires `door` to outlive the set.
Answer<std::unique_ptr<BoundSet>> bind_perf_set(PerfEventDoor& door, std::span<const Request> requests, const Target& target,
                                                std::span<const pid_t> threads, const PerfPermissions& permissions);

}  // namespace memstat::counters
