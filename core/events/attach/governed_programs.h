// SPDX-License-Identifier: BSD-2-Clause
// BPF programs on frequent events, under a governor: measures the cost of events on this machine, and has the map that
// makes the programs sample. Only with libbpf (MEMSTAT_HAVE_LIBBPF).
#pragma once

#include <cstdint>
#include <functional>

#include "core/events/attach/bpf_kernel.h"
#include "core/events/attach/governor.h"

namespace memstat::events {

/// Measures the CPU time of an event: the extra time of some work that causes events. Takes the minimum of many short
/// rounds, since other tasks only ever add time.
class CostMeter {
 public:
  /// `work` does one step; `events` returns the number of events counted so far.
  CostMeter(std::function<void()> work, std::function<std::uint64_t()> events)
      : work_(std::move(work)), events_(std::move(events)) {}
  /// Measures without programs. Call before attaching.
  void measure_detached() { detached_ns_ = measure(); }
  void measure_counted();
  /// Measures while the programs skip events.
  void measure_passed_over() { passed_over_ns_ = measure(); }
  /// Implausible results fall back to EventCost's defaults: this machine may be too busy, or unable to do the work.
  [[nodiscard]] EventCost cost() const;
  [[nodiscard]] std::uint64_t events() const { return events_(); }

 private:
  double measure();  // ns per step

  std::function<void()> work_;
  std::function<std::uint64_t()> events_;
  double detached_ns_ = 0;
  double counted_ns_ = 0;
  double passed_over_ns_ = 0;
  double events_a_step_ = 0;
};

/// The programs of one table on frequent events.
class GovernedPrograms {
 public:
  /// Takes the programs of a loaded object. `has_ticks`: they can sample.
  Result<void> open(bpf_object* object, bool has_ticks);
  /// Measures the cost around `attach`, which attaches `programs`. Then starts the governor, and enlists the programs
  /// so that they can be attached again. Errors: those of `attach`.
  Result<void> attach(CostMeter& meter, const std::function<Result<void>()>& attach, AttachedPrograms& programs,
                      Governor& governor);
  /// Runs the governor. Detaches the programs if it decides so, and attaches them for a trial when it is due.
  /// Returns what the kernel reports on them.
  ProgramFacts look(std::uint64_t events, AttachedPrograms& programs, Governor& governor);

 private:
  void set_mask(std::uint32_t mask);
  void come_back(std::uint64_t events, std::int64_t now_ns, AttachedPrograms& programs, Governor& governor);

  SharedMap map_;
  bool has_ticks_ = false;
  RetryBackoff backoff_;
};

/// Whether programs on raw tracepoints may read the kernel's clock.
bool has_ticks();

}  // namespace memstat::events
