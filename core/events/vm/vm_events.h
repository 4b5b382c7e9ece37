// SPDX-License-Identifier: BSD-2-Clause
// The events of Linux's memory management beside those of slab caches, counted in the kernel by BPF programs, as a table for
// the source linux_vm_events.
#pragma once

#include <memory>
#include <string_view>

#include "core/events/attach/governor.h"
#include "core/events/table/table.h"

namespace memstat::events {

/// A table of these events. Thread safety: as TextTableSource.
class VmTable : public EventTable {
 public:
  using EventTable::EventTable;
  /// Whether read() also writes what each CPU counted; false before the first call.
  virtual void show_cpus(bool is_wanted) = 0;
  /// The view that open() and read() read /proc/vmstat through. Until it is set, only the programs count page faults.
  virtual void set_view(KernelView& view) = 0;
};

/// The events of this machine. `settings`: what option `events` has (event_settings.h); in mode failures only what is rare
/// is attached to. `budget`: what they share with the other tables, and outlives this; when it is not kept, what is not rare
/// is detached, and the text says so. open() loads the programs and attaches them, which needs CAP_BPF and CAP_PERFMON (or
/// root); an event that this kernel or its policy does not give is left out, and the text says why. read() needs nothing and
/// makes no system call but a pread() a program. Errors of open: kNotPresent (built without libbpf; no BTF, no BPF; no event
/// at all), kPermission (with what is needed), kIo. Never null. Thread safety: as TextTableSource.
std::unique_ptr<VmTable> make_vm_events(std::string_view settings, EventBudget& budget = process_budget());

}  // namespace memstat::events
