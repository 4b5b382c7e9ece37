// SPDX-License-Identifier: BSD-2-Clause
// Programs of the kernel on frequent events, governed: what their events cost on this machine, measured while they are
// attached, and the map by which they count a part of the time. Only where libbpf is (MEMSTAT_HAVE_LIBBPF).
#pragma once

#include <cstdint>
#include <functional>
#include <limits>

#include "core/events/attach/bpf_kernel.h"
#include "core/events/attach/comeback.h"
#include "core/events/attach/governor.h"

namespace memstat::events {

/// Measures what an event takes: how much longer some work lasts that causes events, the shortest of many short rounds,
/// which others do not disturb. Thread safety: none.
class CostMeter {
 public:
  /// `work`: a step of it; `events`: those that were counted so far.
  CostMeter(std::function<void()> work, std::function<std::uint64_t()> events)
      : work_(std::move(work)), events_(std::move(events)) {}
  /// While no program is attached.
  void measure_detached() { detached_ns_ = measure(); }
  void measure_counted();
  /// While events are passed over.
  void measure_passed_over() { passed_over_ns_ = measure(); }
  /// What is not plausible, because this machine cannot do the work, or is too busy, is as EventCost has it.
  [[nodiscard]] EventCost cost() const;
  [[nodiscard]] std::uint64_t events() const { return events_(); }

 private:
  double measure();  // ns a step

  std::function<void()> work_;
  std::function<std::uint64_t()> events_;
  double detached_ns_ = 0;
  double counted_ns_ = 0;
  double passed_over_ns_ = 0;
  double events_a_step_ = 0;
};

/// One table's programs on frequent events. Thread safety: none.
class GovernedPrograms {
 public:
  /// Those of an object that is loaded. `has_ticks`: they can count a part of the time.
  Result<void> open(bpf_object* object, bool has_ticks);
  /// Calls `attach`, which attaches `programs`, between measurements with the meter, lets the governor begin, and enlists
  /// them, so that they can be attached again. Errors: those of `attach`.
  Result<void> attach(CostMeter& meter, const std::function<Result<void>()>& attach, AttachedPrograms& programs,
                      Governor& governor);
  /// Asks the governor, detaches the programs when it says so, and attaches them again for a trial when their time has come.
  /// Returns what the kernel knows of them.
  ProgramFacts look(std::uint64_t events, AttachedPrograms& programs, Governor& governor);

 private:
  void set_mask(std::uint32_t mask);
  void come_back(std::uint64_t events, std::int64_t now_ns, AttachedPrograms& programs, Governor& governor);

  SharedMap map_;
  bool has_ticks_ = false;
  Comeback comeback_;
};

/// Whether programs on raw tracepoints may ask for the kernel's clock.
bool has_ticks();

}  // namespace memstat::events
