// SPDX-License-Identifier: BSD-2-Clause
// The events of Linux's slab allocator, counted in the kernel by BPF programs on its raw tracepoints, as a table for the
// source linux_slab_events.
#pragma once

#include <memory>
#include <string_view>

#include "core/events/attach/governor.h"
#include "core/kernel/kernel_view.h"

namespace memstat::events {

/// The events of this machine. `settings`: what option `events` has (event_settings.h); `budget`: what they share with the
/// other tables, and outlives this. When the budget is not kept they are detached, and the text says so. open() loads the
/// programs and attaches them, which needs CAP_BPF and CAP_PERFMON (or root); read() needs nothing and makes no system call
/// but a pread() a program. The programs go with the table, and with the process however it ends: nothing is pinned. Errors
/// of open: kNotPresent (built without libbpf; no BTF, no BPF, no tracepoints that name the cache), kPermission (with what
/// is needed), kIo. Never null. Thread safety: as TextTableSource.
std::unique_ptr<TextTableSource> make_slab_events(std::string_view settings, EventBudget& budget = process_budget());

}  // namespace memstat::events
