// SPDX-License-Identifier: BSD-2-Clause
// What `memstatctl counters` prints: counts of CPU events, and the list of what can be counted.
#pragma once

#include "daemon/ctl/commands/options.h"
#include "daemon/ctl/output/output.h"

namespace memstat::ctl {

/// Counts the events that `wanted` names, or lists all (`wanted.is_list`). Runs the command of `wanted` if there is one,
/// which writes to our own standard output; else waits for the seconds asked for. Throws std::bad_alloc.
Report counters_report(const CounterOptions& wanted, Layout layout);

}  // namespace memstat::ctl
