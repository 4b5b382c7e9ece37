// SPDX-License-Identifier: BSD-2-Clause
// The events of Linux's memory management outside the slab caches, counted by BPF programs, as a table for the source
// linux_vm_events.
#pragma once

#include <memory>
#include <string_view>

#include "core/events/attach/governor.h"
#include "core/events/table/table.h"

namespace memstat::events {

/// A live table of virtual memory events.
class VmTable : public EventTable {
 public:
  using EventTable::EventTable;
  /// Whether read() also writes counts per CPU; off by default.
  virtual void show_cpus(bool is_wanted) = 0;
  /// The view through which open() and read() read /proc/vmstat. Before this is set, only the programs count page
  /// faults.
  virtual void set_view(KernelView& view) = 0;
};

/// Virtual memory events of this machine. `settings`: the text of option `events` (event_settings.h); mode failures
/// attaches only to rare events. `budget`: shared with the other tables; must outlive this one. If it is exceeded,
/// programs on frequent events are detached, and the text says so. open() loads and attaches the programs, which needs
/// CAP_BPF and CAP_PERFMON (or root). Events that this kernel or its policy does not allow are omitted, and the text
/// says why. read() needs no privileges, and its only system call is one pread() per program. Errors of open:
/// kNotPresent (built without libbpf; no BTF, no BPF; no event at all), kPermission (with the missing privilege), kIo.
/// Never null.
std::unique_ptr<VmTable> make_vm_events(std::string_view settings, EventBudget& budget = process_budget());

}  // namespace memstat::events
