// SPDX-License-Identifier: BSD-2-Clause
// The evidence that causes look at, made of each poll's snapshot; and what they find, for the API and memstatctl.
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

/// Remembers how counters stood before, by a number of their own. Thread safety: none.
class CounterMemory {
 public:
  /// What moved within the last five to ten minutes is recent: memory of two times, five minutes apart.
  static constexpr std::int64_t kWindowNs = 300'000'000'000;

  /// Begins a poll.
  void begin(std::int64_t now_ns);
  /// The change of the value with that number, which this poll has now.
  Count change(std::uint64_t number, double value, bool is_counter);
  void forget(std::uint64_t number);
  void clear() { *this = CounterMemory(); }

  [[nodiscard]] double recent_seconds() const { return static_cast<double>(now_ns_ - old_ns_) / 1e9; }

 private:
  struct Series {
    double first = 0;
    double old = 0;
    double middle = 0;
    std::uint32_t window = 0;  ///< In which it was seen last, from 1 on; 0: there is none.
  };
  std::vector<Series> series_;
  std::int64_t now_ns_ = 0;
  std::int64_t old_ns_ = 0;
  std::int64_t middle_ns_ = 0;
  std::uint32_t window_ = 0;
};

/// Evidence of one poll with the texts that it refers to.
struct PollEvidence {
  Evidence evidence;
  std::string texts;
};

/// Makes the evidence of each poll. Steady state: no allocation.
/// Thread safety: current() is safe; all else belongs to the poller's thread.
class EvidenceBuilder {
 public:
  /// What does not come from the snapshot.
  struct Beside {
    EvidenceSystem system = EvidenceSystem::kLinux;
    bool is_filtered = false;  ///< Types are missing, so that sums of types mean nothing.
    std::span<const SourceEvidence> sources = {};
  };
  /// `snapshot`: with all types, before any is left out. `now_ns`: monotonic time of the poll.
  void update(const Snapshot& snapshot, const Beside& beside, std::int64_t now_ns);
  /// The row with this number is another type's from now on.
  void forget(std::uint32_t number);
  /// A replay starts over.
  void clear();

  /// The evidence of the last poll; nullptr: there was none.
  [[nodiscard]] std::shared_ptr<const PollEvidence> current() const;

 private:
  static constexpr std::uint64_t kCountsOfType = 3;
  std::uint64_t number_of_sample(std::size_t metric, std::string_view labels);
  void add_type(const Snapshot& snapshot, std::size_t row, PollEvidence& out);
  void add_samples(const Snapshot& snapshot, std::size_t wanted, PollEvidence& out);
  std::shared_ptr<PollEvidence> free_evidence();

  CounterMemory types_;
  CounterMemory samples_;
  std::unordered_map<std::uint64_t, std::uint32_t> sample_numbers_;  // by hash of metric and labels
  std::vector<std::pair<std::uint64_t, std::uint32_t>> last_order_;  // hash and number, as the last poll had them
  std::size_t cursor_ = 0;
  std::vector<std::size_t> metric_numbers_;  // of metrics_of_causes(), in system_metrics()
  std::size_t polls_ = 0;
  std::int64_t first_ns_ = 0;
  mutable Mutex mutex_;
  std::array<std::shared_ptr<PollEvidence>, 3> rooms_;
  std::shared_ptr<const PollEvidence> current_ MEMSTAT_GUARDED_BY(mutex_);
};

/// Who has evidence. Thread safety: safe.
class Diagnostician {
 public:
  virtual ~Diagnostician() = default;
  /// What is wrong as of the last poll, and what was looked at. `snapshot`: the published one. Allocates.
  [[nodiscard]] virtual Diagnosis diagnosis(const Snapshot& snapshot) const = 0;
};

/// What grows in the history of the snapshot's types, for Evidence::growing; all of it where the history is long enough.
void add_growth(const Snapshot& snapshot, const History& history, Evidence& evidence);

/// Members of an open object of JSON: findings, ruled_out, not_checked, watched_seconds.
void write_diagnosis(JsonWriter& json, const Diagnosis& diagnosis);

}  // namespace memstat
