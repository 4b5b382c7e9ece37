// SPDX-License-Identifier: BSD-2-Clause
// Keeps what counting events costs within key events.budget: above it the programs count a part of the time only, each event
// several times; and where that does not suffice, they are to be detached. It decides by rates and costs that it is given,
// and knows no kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/mutex.h"
#include "core/events/table/table.h"

namespace memstat::events {

/// CPU time that one event takes, with the kernel's way to the program and back, in ns.
struct EventCost {
  double counted = 30;      ///< Of an event that is counted.
  double passed_over = 25;  ///< Of one that is not, because another moment is counted.
};

/// What all tables of events of a process may take together. Thread safety: any thread.
class EventBudget {
 public:
  /// The most that is saved: the budget of this time. Half of it may be spent at once, before the programs sample or are
  /// detached, so that no minute takes more than 1.2 times the budget.
  static constexpr double kUsualSeconds = 20;
  explicit EventBudget(double seconds = kUsualSeconds) : seconds_(seconds) {}

  /// What the events of a table take at their present rate, in CPUs: all counted, or all passed over.
  struct Load {
    double counted = 0;
    double passed_over = 0;
  };
  /// A table that takes part, as a number for settle().
  std::size_t add_table();
  /// The time over which rates are averaged where looks are closer together: a burst is no load.
  [[nodiscard]] double rate_seconds() const { return seconds_ / 2; }
  /// It takes nothing any more.
  void leave(std::size_t table);
  /// A table took `spent` CPU seconds since its last call, and goes on at `load`; `budget` is in CPUs. Returns the sampling
  /// mask for it (bpf/sampling.h); nothing: it must be detached, and has left.
  std::optional<std::uint32_t> settle(std::size_t table, Load load, double spent, double budget, std::int64_t now_ns);

 private:
  const double seconds_;
  Mutex mutex_;
  std::vector<Load> loads_ MEMSTAT_GUARDED_BY(mutex_);
  double credit_ MEMSTAT_GUARDED_BY(mutex_) = 0;  // CPU seconds that may be spent beyond the budget
  std::int64_t last_ns_ MEMSTAT_GUARDED_BY(mutex_) = 0;
  bool is_started_ MEMSTAT_GUARDED_BY(mutex_) = false;
};

/// That of this process.
EventBudget& process_budget();

/// What is known of a table's cost, for its text.
struct GovernorFacts {
  /// What becomes of what is detached: it stays so; it is tried again; it would be, but the helper process is gone.
  enum Again : std::uint8_t { kNever, kLater, kLost };
  bool is_attached = true;       ///< False: detached.
  std::uint64_t weight = 1;      ///< Each event that is counted stands for this many; 1: all are counted. Never 0.
  std::uint64_t cost_ns = 0;     ///< CPU time taken since attaching.
  std::uint64_t sampled_ns = 0;  ///< Time since attaching in which not all were counted.
  std::uint64_t budget_ppm = 0;  ///< Millionths of a CPU that all tables may take together.
  Again again = kNever;          ///< Counts while it is detached.
};

/// Adds the row "governor ATTACHED WEIGHT COST_NS SAMPLED_NS BUDGET_PPM [later|lost]".
void add_governor(TableWriter& rows, const GovernorFacts& facts);

/// Governs one table. Thread safety: none.
class Governor {
 public:
  Governor(std::uint64_t budget_ppm, EventBudget& shared) : shared_(shared) { facts_.budget_ppm = budget_ppm; }
  Governor(const Governor&) = delete;
  Governor& operator=(const Governor&) = delete;
  ~Governor();

  /// The table's programs are attached, and counted `events` by now.
  void start(EventCost cost, std::uint64_t events, std::int64_t now_ns);
  /// Events so far, each by its weight, and, where the kernel measures programs (sysctl kernel.bpf_stats_enabled), the time
  /// and number of their runs so far. Then mask() and is_attached() are what to do.
  void look(std::uint64_t events, std::uint64_t run_ns, std::uint64_t runs, std::int64_t now_ns);

  /// The table was detached, and its programs are attached again for a trial, with the trial's mask: so few events are
  /// counted at first as can be.
  void try_again(std::uint64_t events, std::int64_t now_ns);
  [[nodiscard]] std::uint32_t trial_mask() const;
  void set_again(GovernorFacts::Again again) { facts_.again = again; }

  [[nodiscard]] bool is_attached() const { return facts_.is_attached; }
  [[nodiscard]] std::uint32_t mask() const { return static_cast<std::uint32_t>(facts_.weight - 1); }
  [[nodiscard]] const GovernorFacts& facts() const { return facts_; }

 private:
  EventBudget& shared_;
  std::optional<std::size_t> table_;
  GovernorFacts facts_;
  EventCost cost_;
  std::uint64_t events_ = 0;
  std::uint64_t run_ns_ = 0;
  std::uint64_t runs_ = 0;
  std::int64_t last_ns_ = 0;
  std::int64_t begin_ns_ = 0;  // when it was attached, the last time
  double rate_ = 0;            // events a ns, averaged
};

}  // namespace memstat::events
