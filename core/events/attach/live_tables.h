// SPDX-License-Identifier: BSD-2-Clause
// The tables of events of this machine, one for each source of events. None is ever null: in a build without a table's
// library, its open() fails with kNotPresent. Thread safety of all: as TextTableSource.
#pragma once

#include <memory>
#include <string_view>

#include "core/events/attach/governor.h"
#include "core/events/table/table.h"
#include "core/kernel/kernel_view.h"

namespace memstat::events {

struct SiteLimits;  // sites/caller_table.h

/// Slab events. `settings`: the text of option `events` (event_settings.h). `budget`: shared with the other tables;
/// must outlive this one. If the budget is exceeded the programs are detached, and the text reports it. open() loads and
/// attaches the programs, which needs CAP_BPF and CAP_PERFMON (or root). read() needs no privileges, and its only
/// system call is one pread() per program. Nothing is pinned: the programs go away with the table or with the process,
/// however it ends. Errors of open: kNotPresent (no BTF, no BPF, no tracepoints that report the cache), kPermission
/// (with the missing privilege), kIo.
std::unique_ptr<TextTableSource> make_slab_events(std::string_view settings, EventBudget& budget = process_budget());

/// The callers of the slab allocator, as make_slab_events(). `limits`: maximum numbers of rows.
std::unique_ptr<TextTableSource> make_call_sites(std::string_view settings, const SiteLimits& limits,
                                                 EventBudget& budget = process_budget());

/// The slab caches. The program is not attached to an event: it runs when read() requests it. read() needs no privilege,
/// only bpf(2) with BPF_ITER_CREATE, and takes none of the allocator's locks. Errors of open: as make_slab_events(), and
/// kNotPresent without such an iterator, which Linux has since 6.13.
std::unique_ptr<TextTableSource> make_slab_caches();

/// malloc(9) events, aggregated in FreeBSD's kernel by DTrace through libdtrace. open() needs root and the kernel module
/// dtmalloc; read() uses the descriptors of open(). The kernel ends the tracing with the process, and after half a minute
/// without a read. Errors of open: kNotPresent (no kernel module), kPermission, kIo.
std::unique_ptr<TextTableSource> make_malloc_events();

/// Virtual memory events, as make_slab_events(), but mode failures attaches only to rare events, and over the budget
/// only programs on frequent events are detached. Events that this kernel or its policy does not allow are omitted, and
/// the text has the reason; kNotPresent: no event at all. It counts by CPU if wanted, and reads /proc/vmstat through the
/// view; before this is set, only the programs count page faults.
std::unique_ptr<EventTable> make_vm_events(std::string_view settings, EventBudget& budget = process_budget());

}  // namespace memstat::events
