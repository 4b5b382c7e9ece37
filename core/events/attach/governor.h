// SPDX-License-Identifier: BSD-2-Clause
// Keeps the cost of counting events within the key events.budget. Above it, programs sample; if that does not suffice,
// they must be detached. Works on given rates and costs, and does not access the kernel.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/mutex.h"
#include "core/base/not_copyable.h"
#include "core/events/table/table.h"

namespace memstat::events {

/// CPU time per event in ns, including the kernel's call of the program.
struct EventCost {
  double counted = 30;      ///< An event that is counted.
  double passed_over = 25;  ///< An event that sampling skips.
};

/// The CPU budget that all event tables of a process share. Thread safety: any thread.
class EventBudget {
 public:
  /// Maximum credit, in seconds of the budget. Up to half of it can be spent at once before the programs sample or are
  /// detached, so no minute exceeds 1.2 times the budget.
  static constexpr double kUsualSeconds = 20;
  explicit EventBudget(double seconds = kUsualSeconds) : seconds_(seconds) {}

  /// Load of a table's events at the current rate, in CPUs: if all are counted, and if all are skipped.
  struct Load {
    double counted = 0;
    double passed_over = 0;
  };
  /// Registers a table. Returns its number for settle().
  std::size_t add_table();
  /// Minimum time over which rates are averaged, so that a short burst is not taken for load.
  [[nodiscard]] double rate_seconds() const { return seconds_ / 2; }
  /// The table no longer uses CPU time.
  void leave(std::size_t table);
  /// Accounts for a table that used `spent` CPU seconds since its last call, and continues at `load`; `budget` is in
  /// CPUs. Returns its sampling mask (bpf/sampling.h). Empty: the table must be detached, and is no longer registered.
  std::optional<std::uint32_t> settle(std::size_t table, Load load, double spent, double budget, std::int64_t now_ns);

 private:
  const double seconds_;
  Mutex mutex_;
  std::vector<Load> loads_ MEMSTAT_GUARDED_BY(mutex_);
  double credit_ MEMSTAT_GUARDED_BY(mutex_) = 0;  // CPU seconds that may be spent beyond the budget
  std::int64_t last_ns_ MEMSTAT_GUARDED_BY(mutex_) = 0;
  bool is_started_ MEMSTAT_GUARDED_BY(mutex_) = false;
};

/// The process-wide budget.
EventBudget& process_budget();

/// The state of a table's governor, for its text.
struct GovernorFacts {
  /// The plan after detaching: nothing; a retry; no retry because the helper process is gone.
  enum Again : std::uint8_t { kNever, kLater, kLost };
  bool is_attached = true;       ///< False: detached by the governor.
  std::uint64_t weight = 1;      ///< Sampling weight: each counted event represents this many. 1: all are counted. Never 0.
  std::uint64_t cost_ns = 0;     ///< CPU time used since attaching.
  std::uint64_t sampled_ns = 0;  ///< Time since attaching in which events were sampled.
  std::uint64_t budget_ppm = 0;  ///< Budget of all tables together, in millionths of a CPU.
  Again again = kNever;          ///< Valid while detached.
};

/// Adds the row "governor ATTACHED WEIGHT COST_NS SAMPLED_NS BUDGET_PPM [later|lost]".
void add_governor(TableWriter& rows, const GovernorFacts& facts);

/// Governs one table: decides on sampling and detaching.
class Governor : NotCopyable {
 public:
  Governor(std::uint64_t budget_ppm, EventBudget& shared) : shared_(shared) { facts_.budget_ppm = budget_ppm; }
  ~Governor();

  /// Starts with the programs attached and `events` counted so far.
  void start(EventCost cost, std::uint64_t events, std::int64_t now_ns);
  /// Updates mask() and is_attached(). `events`: events so far, multiplied by their weight. `run_ns`, `runs`: time and
  /// number of the programs' runs so far, if the kernel measures them (sysctl kernel.bpf_stats_enabled).
  void look(std::uint64_t events, std::uint64_t run_ns, std::uint64_t runs, std::int64_t now_ns);

  /// Starts a trial: the table's programs have been attached again, with trial_mask(), the sparsest sampling.
  void try_again(std::uint64_t events, std::int64_t now_ns);
  [[nodiscard]] std::uint32_t trial_mask() const;
  void set_again(GovernorFacts::Again again) { facts_.again = again; }

  [[nodiscard]] bool is_started() const { return table_.has_value(); }
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
  std::int64_t begin_ns_ = 0;  // time of the latest attachment
  double rate_ = 0;            // events per ns, averaged
};

/// Schedule for retrying what exceeded the budget: exponential back-off from 1 minute to 1 hour; reset after an hour without
/// failure. Thread safety: none.
class RetryBackoff {
 public:
  static constexpr std::int64_t kFirstNs = 60'000'000'000;
  static constexpr std::int64_t kMaxNs = 60 * kFirstNs;

  /// Call when the work starts, for the first time or again.
  void begun(std::int64_t now_ns) {
    begun_ns_ = now_ns;
    is_begun_ = true;
  }
  /// Call when the work was given up, or could not be restarted.
  void given_up(std::int64_t now_ns) {
    const bool has_lasted = is_begun_ && now_ns - begun_ns_ >= kMaxNs;
    delay_ns_ = delay_ns_ == 0 || has_lasted ? kFirstNs : std::min(2 * delay_ns_, kMaxNs);
    due_ns_ = now_ns + delay_ns_;
    is_begun_ = false;
  }
  /// Whether it is time to retry what was given up.
  [[nodiscard]] bool is_due(std::int64_t now_ns) const { return now_ns >= due_ns_; }

 private:
  bool is_begun_ = false;
  std::int64_t begun_ns_ = 0;
  std::int64_t delay_ns_ = 0;  // the latest delay; 0: never given up
  std::int64_t due_ns_ = 0;
};

}  // namespace memstat::events
