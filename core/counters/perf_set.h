// SPDX-License-Identifier: BSD-2-Clause
// A counting set on Linux: groups of perf events, each read with one system call.
#pragma once

#include <memory>
#include <span>

#include "core/counters/counter_system.h"
#include "core/counters/perf_errors.h"
#include "core/counters/perf_event.h"

namespace memstat::counters {

/// Opens the events of `requests` for the given threads (none for a CPU) and starts counting. Requests that do not fit
/// into one group are split into several, unless the target requires exactness. `api` must outlive the set.
Answer<std::unique_ptr<BoundSet>> bind_perf_set(PerfEventApi& api, std::span<const Request> requests, const Target& target,
                                                std::span<const pid_t> threads, const PerfPermissions& permissions);

}  // namespace memstat::counters
