// SPDX-License-Identifier: BSD-2-Clause
// The evidence that causes examine, built from each poll's snapshot, and the findings, for the API and memstatctl.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/json_writer.h"
#include "core/base/mutex.h"
#include "core/diagnosis/diagnose.h"
#include "daemon/snapshot/history.h"
#include "daemon/snapshot/snapshot.h"

namespace memstat {

/// Earlier values of counters, by number.
class CounterMemory {
 public:
  /// Changes within the last five to ten minutes are recent: two values are kept, five minutes apart.
  static constexpr std::int64_t kWindowNs = 300'000'000'000;

  void begin(std::int64_t now_ns);
  /// Records this poll's value of a counter and returns its change.
  Count change(std::uint64_t number, double value, bool is_counter);
  void forget(std::uint64_t number);
  void clear() { *this = CounterMemory(); }
  /// Frees the storage of the forgotten counters with the highest numbers.
  void shrink();
  /// Keeps only these counters, which get the numbers 0, 1, 2, ... Throws std::bad_alloc.
  void keep(std::span<const std::uint32_t> numbers);

  /// Since the poll before; 0 at the first.
  [[nodiscard]] double poll_seconds() const { return static_cast<double>(now_ns_ - last_ns_) / 1e9; }
  [[nodiscard]] double recent_seconds() const { return static_cast<double>(now_ns_ - old_ns_) / 1e9; }

 private:
  struct Series {
    double first = 0;
    double old = 0;
    double middle = 0;
    double last = 0;
    std::uint32_t window = 0;  ///< Window of the last value, from 1; 0: none.
    std::uint32_t moved = 0;   ///< Time at which it last moved, in tenths of a second.
  };
  std::vector<Series> series_;
  std::int64_t now_ns_ = 0;
  std::int64_t last_ns_ = 0;
  std::int64_t old_ns_ = 0;
  std::int64_t middle_ns_ = 0;
  std::uint32_t window_ = 0;
  std::uint32_t now_tenths_ = 0;
};

/// The evidence of one poll and the texts that it refers to.
struct PollEvidence {
  Evidence evidence;
  std::string texts;
};

/// Builds the evidence of each poll. Allocates nothing in the steady state. Thread safety: current() is safe; the rest
/// belongs to the poller's thread.
class EvidenceBuilder {
 public:
  /// Input from outside the snapshot.
  struct Beside {
    EvidenceSystem system = EvidenceSystem::kLinux;
    bool is_filtered = false;  ///< Some types are missing, so sums over types are meaningless.
    std::span<const SourceEvidence> sources = {};
    std::span<const GrowthEvidence> growing = {};  ///< the last result
  };
  /// `snapshot` contains all types, before any is omitted. `now_ns` is the monotonic time of the poll.
  void update(const Snapshot& snapshot, const Beside& beside, std::int64_t now_ns);
  /// The row number is about to be reused for another type.
  void forget(std::uint32_t number);
  /// For a replay that starts over.
  void clear();
  /// Frees storage that the last update did not need. Throws std::bad_alloc.
  void shrink();

  /// The evidence of the last poll; nullptr before the first.
  [[nodiscard]] std::shared_ptr<const PollEvidence> current() const;

 private:
  static constexpr std::uint64_t kCountsOfType = 4;
  void forget_absent_samples();
  std::uint64_t number_of_sample(std::size_t metric, std::string_view labels);
  void add_type(const Snapshot& snapshot, std::size_t row, PollEvidence& out);
  void add_samples(const Snapshot& snapshot, std::size_t wanted, PollEvidence& out);
  std::shared_ptr<PollEvidence> free_evidence();

  CounterMemory types_;
  CounterMemory samples_;
  std::unordered_map<std::uint64_t, std::uint32_t> sample_numbers_;  // by hash of metric and labels
  std::vector<std::pair<std::uint64_t, std::uint32_t>> last_order_;  // hash and number, in the order of the last poll
  std::size_t cursor_ = 0;
  std::vector<std::size_t> metric_numbers_;  // index in system_metrics() of each of metrics_of_causes()
  std::size_t polls_ = 0;
  std::int64_t first_ns_ = 0;
  mutable Mutex mutex_;
  std::array<std::shared_ptr<PollEvidence>, 3> rooms_;
  std::shared_ptr<const PollEvidence> current_ MEMSTAT_GUARDED_BY(mutex_);
};

/// Provides a diagnosis. Thread safety: safe.
class Diagnostician {
 public:
  virtual ~Diagnostician() = default;
  /// The findings as of the last poll, and the causes examined. `snapshot` is the published one. Allocates.
  [[nodiscard]] virtual Diagnosis diagnosis(const Snapshot& snapshot) const = 0;
};

/// Adds the growth in the history of the snapshot's types to Evidence::growing, if the history is long enough.
void add_growth(const Snapshot& snapshot, const History& history, Evidence& evidence);

/// Adds the last minutes of the kernel's log, if the snapshot has it.
void add_log(const Snapshot& snapshot, Evidence& evidence);

/// Writes members of an open JSON object: findings, ruled_out, not_checked, watched_seconds.
void write_diagnosis(JsonWriter& json, const Diagnosis& diagnosis);

}  // namespace memstat
