// SPDX-License-Identifier: BSD-2-Clause
// The callers of Linux's slab allocator, counted by BPF programs on raw tracepoints, as a table for the source
// linux_call_sites.
#pragma once

#include <memory>
#include <string_view>

#include "core/events/attach/governor.h"
#include "core/events/sites/caller_table.h"
#include "core/kernel/kernel_view.h"

namespace memstat::events {

/// The callers of this machine's allocator. `settings`, `budget`, privileges and errors: as for make_slab_events()
/// (slab_events.h). `limits`: maximum numbers of rows. read() needs no privileges. Never null.
std::unique_ptr<TextTableSource> make_call_sites(std::string_view settings, const SiteLimits& limits,
                                                 EventBudget& budget = process_budget());

}  // namespace memstat::events
