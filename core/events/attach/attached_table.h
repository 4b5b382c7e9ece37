// SPDX-License-Identifier: BSD-2-Clause
// Loading and attaching of programs, shared by all tables of events. Only with libbpf (MEMSTAT_HAVE_LIBBPF).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/events/attach/bpf_kernel.h"
#include "core/events/attach/event_settings.h"
#include "core/events/attach/governed_programs.h"
#include "core/events/table/table.h"

namespace memstat::events {

/// A table whose figures are counted by BPF programs.
class AttachedTable : public EventTable {
 public:
  using EventTable::EventTable;
  /// Checks, loads and attaches. On error nothing stays attached: half of the events would be wrong figures.
  Result<void> open() final;

 protected:
  /// Whether this kernel has what the programs need.
  virtual Result<void> check(const btf& /*types*/) { return {}; }
  virtual Result<void> load(const btf& types) = 0;
  virtual Result<void> attach(const btf& types) = 0;
  virtual void detach() = 0;
  [[nodiscard]] bool is_open() const { return object_ != nullptr; }

  ObjectPointer object_;  // destroyed last: derived classes hold what is attached
};

/// A table whose programs are all governed. It has one map shared by all CPUs (.bss) and one per CPU (by_cpu).
class GovernedTable : public AttachedTable {
 public:
  GovernedTable(const TableFormat& format, const EventSettings& settings, EventBudget& budget)
      : AttachedTable(format), governor_(settings.budget_ppm, budget) {}
  bool tend() final;

 protected:
  /// Sizes of the two maps (the second for one CPU), and whether memstatd writes to them.
  struct Maps {
    std::size_t shared = 0;
    std::size_t by_cpu = 0;
    bool is_written = false;
  };
  /// Loads the programs with these constants (.rodata) and maps their memory.
  Result<void> load_programs_of(std::span<const unsigned char> programs, std::span<const std::byte> constants,
                                const Maps& maps);
  Result<void> attach(const btf& types) final;
  void detach() final { attached_.detach(); }
  /// Events so far, for the governor.
  virtual std::uint64_t events_now() = 0;
  /// Events while the cost is measured, before the first read.
  virtual std::uint64_t events_counted() { return events_now(); }
  ProgramFacts look(std::uint64_t events) { return governed_.look(events, attached_, governor_); }

  AttachedPrograms attached_;
  SharedMap shared_;
  SharedMap by_cpu_;
  std::size_t cpu_count_ = 0;
  Governor governor_;

 private:
  GovernedPrograms governed_;
};

}  // namespace memstat::events
