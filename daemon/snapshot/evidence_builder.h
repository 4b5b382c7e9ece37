// SPDX-License-Identifier: BSD-2-Clause
// The evidence that causes examine, built from each poll's snapshot, and the findings, for the API and memstatctl.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/mutex.h"
#include "core/diagnosis/diagnose.h"
#include "core/model/kernel_log.h"
#include "daemon/snapshot/history.h"
#include "daemon/snapshot/snapshot.h"

namespace memstat {

/// Earlier values of counters, by number.
class CounterMemory {
 public:
  /// Changes within the last five to ten minutes are recent: two values are kept, five minutes apart.
  static constexpr std::int64_t kWindowNs = 300'000'000'000;

  void begin(std::int64_t now_ns);
  /// Records this poll's value of a counter.
  void update(std::uint64_t number, double value, bool is_counter);
  /// The change of a counter that this poll has updated.
  [[nodiscard]] Count count(std::uint64_t number) const;
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
  /// What only a change or a new window touches.
  struct Series {
    double first = 0;
    double old = 0;
    double middle = 0;
    double before = 0;        ///< Value before the last move.
    float high = 0;           ///< Highest value in this window.
    float high_before = 0;    ///< The same in the window before.
    std::uint32_t moved = 0;  ///< Time at which it last moved, in tenths of a second.
    std::uint32_t poll = 0;   ///< Poll at which it last moved.
  };
  void resize(std::size_t size);

  std::vector<double> last_;
  std::vector<std::uint32_t> windows_;  // window of the last value, from 1; 0: none
  std::vector<Series> series_;
  std::int64_t now_ns_ = 0;
  std::int64_t last_ns_ = 0;
  std::int64_t old_ns_ = 0;
  std::int64_t middle_ns_ = 0;
  std::uint32_t window_ = 0;
  std::uint32_t poll_ = 0;
  std::uint32_t now_tenths_ = 0;
};

/// The evidence of one poll and the texts that it refers to.
struct PollEvidence {
  Evidence evidence;
  std::string names;        ///< of types
  std::string labels;       ///< of samples
  std::uint64_t shape = 0;  ///< The samples are those of this shape of the statistics; 0: of none.
};

/// Records each poll's counters and builds its evidence. In the steady state this allocates nothing, unless a reader still
/// has the evidence of the poll before. Thread safety: current() is safe; the rest belongs to the poller's thread.
class EvidenceBuilder {
 public:
  /// Input from outside the snapshot.
  struct EvidenceInput {
    EvidenceSystem system = EvidenceSystem::kLinux;
    double page_bytes = 4096;
    bool is_filtered = false;  ///< Some types are missing, so sums over types are meaningless.
    std::span<const SourceEvidence> sources = {};
    std::span<const InspectionAnswer> holders = {};                    ///< made when findings began
    std::shared_ptr<const std::vector<InspectionAnswer>> limits = {};  ///< see Evidence
    std::string_view why_unasked = {};                                 ///< see Evidence
    /// Adds to the evidence before others can see it; may be empty.
    std::function<void(Evidence&)> complete = {};
    const Evidence* growth = nullptr;  ///< result of the last add_growth(); nullptr: none
  };
  /// `snapshot` contains all types, before any is omitted. `now_ns` is the monotonic time of the poll.
  void update(const Snapshot& snapshot, const EvidenceInput& beside, std::int64_t now_ns);
  /// The row number is about to be reused for another type.
  void forget(std::uint32_t number);
  /// For a replay that starts over.
  void clear();
  /// Frees storage that the last update did not need. Throws std::bad_alloc.
  void shrink();

  /// The evidence of the last poll, with the kernel's log; nullptr before the first.
  [[nodiscard]] std::shared_ptr<const PollEvidence> current() const;

 private:
  /// A metric of causes that this build has.
  struct Wanted {
    std::uint32_t name = 0;    // index in metrics_of_causes()
    std::uint32_t number = 0;  // index in system_metrics()
    bool is_counter = false;
    ValueFormat format = ValueFormat::kUnsigned;
  };
  /// The logs of the last poll, and their events with seconds since boot in `seconds_ago`.
  struct ParsedLogs {
    std::array<std::string, kMaxLogs> texts;
    bool is_timed = false;
    std::vector<KillEvidence> kills;
    std::vector<ProgramKillEvidence> program_kills;
    std::vector<LoggedEvidence> logged;
  };
  enum CountOfType : std::uint8_t { kFailed, kSlept, kMoved, kAdded, kCountsOfType };
  void find_metrics();
  void number_samples(const Snapshot& snapshot) MEMSTAT_REQUIRES(mutex_);
  void forget_absent_samples() MEMSTAT_REQUIRES(mutex_);
  void update_types(const Snapshot& snapshot) MEMSTAT_REQUIRES(mutex_);
  void add_type(const Snapshot& snapshot, std::size_t row, PollEvidence& out) const MEMSTAT_REQUIRES(mutex_);
  void name_samples(const Snapshot& snapshot, PollEvidence& out) const MEMSTAT_REQUIRES(mutex_);
  void add_samples(const Snapshot& snapshot, PollEvidence& out) const MEMSTAT_REQUIRES(mutex_);
  void add_logs(const Snapshot& snapshot, Evidence& evidence) MEMSTAT_REQUIRES(mutex_);
  void parse_logs(const Snapshot& snapshot, bool is_timed, double page_bytes) MEMSTAT_REQUIRES(mutex_);
  void add_event(const LoggedEvent& event, bool is_timed, double page_bytes) MEMSTAT_REQUIRES(mutex_);
  void build(const Snapshot& snapshot, PollEvidence& out) MEMSTAT_REQUIRES(mutex_);

  std::vector<Wanted> wanted_;  // in the order of metrics_of_causes()
  std::size_t polls_ = 0;
  std::int64_t first_ns_ = 0;
  mutable Mutex mutex_;
  std::array<CounterMemory, kCountsOfType> types_ MEMSTAT_GUARDED_BY(mutex_);  // by row number
  CounterMemory samples_ MEMSTAT_GUARDED_BY(mutex_);
  // Numbers in samples_ of the last poll's samples, in order. They stay while the shapes of the statistics do.
  std::vector<std::uint32_t> numbers_ MEMSTAT_GUARDED_BY(mutex_);
  std::vector<StagedStatistics::Shape> shapes_ MEMSTAT_GUARDED_BY(mutex_);
  std::uint64_t shape_ MEMSTAT_GUARDED_BY(mutex_) = 0;  // counts the changes of shapes_
  std::unordered_map<std::uint64_t, std::uint32_t> sample_numbers_
      MEMSTAT_GUARDED_BY(mutex_);               // by hash of metric and labels
  Evidence beside_ MEMSTAT_GUARDED_BY(mutex_);  // without types and metrics
  bool is_filtered_ MEMSTAT_GUARDED_BY(mutex_) = false;
  std::unique_ptr<LogTable> log_ MEMSTAT_GUARDED_BY(mutex_);  // nullptr until there is a log
  ParsedLogs parsed_logs_ MEMSTAT_GUARDED_BY(mutex_);
  bool has_peak_capacity_ MEMSTAT_GUARDED_BY(mutex_) = false;  // current_ has the room of a peak
  std::shared_ptr<PollEvidence> current_ MEMSTAT_GUARDED_BY(mutex_);
};

/// Provides a diagnosis. Thread safety: safe.
class Diagnostician {
 public:
  virtual ~Diagnostician() = default;
  /// The findings as of the last poll, and the causes examined. Allocates.
  [[nodiscard]] virtual Diagnosis diagnosis() const = 0;
};

/// Adds the growth in the history of the snapshot's types to Evidence::growing, if the history is long enough.
void add_growth(const Snapshot& snapshot, const History& history, Evidence& evidence);

}  // namespace memstat
