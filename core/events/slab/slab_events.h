// SPDX-License-Identifier: BSD-2-Clause
// The events of Linux's slab allocator, counted by BPF programs on raw tracepoints, as a table for the source
// linux_slab_events.
#pragma once

#include <memory>
#include <string_view>

#include "core/events/attach/governor.h"
#include "core/kernel/kernel_view.h"

namespace memstat::events {

/// Slab events of this machine. `settings`: the text of option `events` (event_settings.h). `budget`: shared with the
/// other tables; must outlive this one. If the budget is exceeded the programs are detached, and the text says so.
/// open() loads and attaches the programs, which needs CAP_BPF and CAP_PERFMON (or root). read() needs no privileges,
/// and its only system call is one pread() per program. Nothing is pinned: the programs go away with the table or with
/// the process, however it ends. Errors of open: kNotPresent (built without libbpf; no BTF, no BPF, no tracepoints that
/// report the cache), kPermission (with the missing privilege), kIo. Never null.
std::unique_ptr<TextTableSource> make_slab_events(std::string_view settings, EventBudget& budget = process_budget());

}  // namespace memstat::events
