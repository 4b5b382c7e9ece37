// SPDX-License-Identifier: BSD-2-Clause
// Loading and attaching of programs, shared by all tables of events. Only with libbpf (MEMSTAT_HAVE_LIBBPF).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "core/events/attach/bpf_kernel.h"
#include "core/events/attach/event_settings.h"
#include "core/events/attach/governor.h"
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

  std::optional<TypesFile> types_file_;  // only during open(), as are the types
  BtfPointer types_;
  ObjectPointer object_;  // destroyed last: derived classes hold what is attached
};

/// A table whose programs on frequent events obey a governor: they sample, and are detached and attached again. It has
/// one map shared by all CPUs (.bss), one per CPU (by_cpu), and one that makes the programs sample (.data.sampling).
class GovernedTable : public AttachedTable {
 public:
  GovernedTable(const TableFormat& format, const EventSettings& settings, EventBudget& budget)
      : AttachedTable(format), governor_(settings.budget_ppm, budget) {}
  bool tend() final;

 protected:
  /// Sizes of the first two maps (the second for one CPU), and whether memstatd writes to them.
  struct Maps {
    std::size_t shared = 0;
    std::size_t by_cpu = 0;
    bool is_written = false;
  };
  /// Loads the programs with these constants (.rodata) and maps their memory. `prepare`: called before they are loaded.
  Result<void> load_programs_of(
      std::span<const unsigned char> programs, std::span<const std::byte> constants, const Maps& maps,
      const std::function<Result<void>()>& prepare = [] { return Result<void>(); });
  /// Measures the cost of an event around attach_programs(). Then starts the governor, and enlists the programs so that
  /// they can be attached again.
  Result<void> attach(const btf& types) override;
  void detach() override { attached_.detach(); }
  virtual Result<void> attach_programs(const btf& /*types*/) { return attached_.attach_all(object_.get()); }
  /// Work that causes events, to measure their cost.
  virtual void cause_events();
  /// Events so far, for the governor.
  virtual std::uint64_t events_now() = 0;
  /// Events while the cost is measured, before the first read.
  virtual std::uint64_t events_counted() { return events_now(); }
  /// Runs the governor. Detaches the programs if it decides so, and attaches them for a trial when it is due. Returns
  /// what the kernel reports on them.
  ProgramFacts look(std::uint64_t events);

  AttachedPrograms attached_;
  SharedMap shared_;
  SharedMap by_cpu_;
  std::size_t cpu_count_ = 0;
  Governor governor_;
  bool has_ticks_ = true;  // whether the programs can sample

 private:
  double step_ns();        // CPU time of cause_events()
  double events_a_step();  // in cause_events()
  void set_mask(std::uint32_t mask);
  void come_back(std::uint64_t events, std::int64_t now_ns);

  SharedMap sampling_;
  RetryBackoff backoff_;
};

}  // namespace memstat::events
