// SPDX-License-Identifier: BSD-2-Clause
// One poll: read every source, commit, track, build and publish a snapshot.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "core/base/peak_watch.h"
#include "core/kernel/once_per_poll.h"
#include "core/source.h"
#include "daemon/exposition/exposition.h"
#include "daemon/exposition/rendered_snapshot.h"
#include "daemon/poll/holders.h"
#include "daemon/poll/polled_source.h"
#include "daemon/poll/reader_thread.h"
#include "daemon/snapshot/active_findings.h"
#include "daemon/snapshot/evidence_builder.h"
#include "daemon/snapshot/history.h"
#include "daemon/snapshot/selection.h"
#include "daemon/telemetry/self_metrics.h"
#include "daemon/telemetry/source_status.h"
#include "daemon/tracking/delta_tracker.h"

namespace memstat {

/// Owns the type list, the tracker and the sources, and is their only user. Thread safety: one thread (the poller's),
/// except statuses() and diagnosis(), which are safe, and cancel().
class Poller : public SourceStatuses, public Diagnostician {
 public:
  struct Options {
    bool is_replay = false;  ///< A capture's events are read whatever the mode of events is.
    bool everything =
        false;  ///< Render every metric of every type, including those per CPU and size class (--once). Implies unlimited.
    bool unlimited = false;  ///< List all types, regardless of min_bytes and series_limit (--once --tier).
    bool renders = true;     ///< False: snapshots have no page.
    /// Reads every source once on opening, so that the reader process records what will be requested.
    bool reads_when_opened = false;
    /// Receives messages for the operator: a source went down or recovered. Severity: LogLevel.
    std::function<void(LogLevel, std::string_view)> log = {};
    /// The time of this poll's figures, in ns since 1970, for a replay. Empty: now.
    std::function<std::int64_t()> realtime_ns = {};
    /// Answers to inspections when findings begin. nullptr: nobody does, because of `why_no_holders`.
    std::shared_ptr<InspectionChannel> holders = nullptr;
    std::string why_no_holders = {};
    /// The last answer of a capture up to the selected poll, for a replay. Empty: there are none.
    std::function<Result<InspectionAnswer>(const Inspection&)> recorded_answer = {};
    std::span<const SourceDescriptor* const> sources =
        all_sources();  ///< Only sources of the kernel's operating system are polled.
  };

  Poller(std::shared_ptr<KernelView> view, const Clock& clock, SelfMetrics& metrics, SnapshotPool& pool,
         const Config& config, Options options);
  ~Poller() override;

  /// Opens every source and reads the boot time, while privileges last. Call once, before the first poll.
  void open_sources();

  /// Takes effect with the next poll. Counters are kept.
  void configure(const Config& config);

  /// Polls once. `now_ns`: the monotonic time of the kernel's figures (in a replay, the capture's), for deltas and
  /// growth. Returns whether any source is up. Does not throw.
  bool poll(std::int64_t now_ns);

  /// Between two polls, lets sources maintain what they have attached to the kernel. Returns whether it should be
  /// called again soon. Does not throw.
  bool tend();

  /// Forgets all types and their counters, when a replay starts over.
  void forget_everything();

  /// Ends the wait for a running read, for shutdown.
  void cancel() { reader_.cancel(); }
  /// Whether cancel() made the last poll incomplete. For the polling thread.
  [[nodiscard]] bool was_cut() const { return was_cut_; }

  /// Earlier figures of the types.
  [[nodiscard]] const History& history() const { return history_; }

  /// Looks for growth, for the findings of later polls. Reading all of the history allocates and takes as long as several
  /// polls, so this does nothing within five minutes of the last search, or before polls have taken fifty times its
  /// duration. Polls of a replay look for themselves.
  void look_for_growth(std::int64_t now_ns);
  /// As of the last poll, most urgent first.
  [[nodiscard]] const Findings& findings() const { return findings_; }
  /// Indexes of findings that turned urgent in the last poll: a limit was reached, something failed or was killed, or was
  /// killed again. None in the first poll.
  [[nodiscard]] std::span<const std::size_t> urgent() const { return urgent_; }
  /// Control groups that may have the next kill or had the last one. Call between polls.
  [[nodiscard]] std::vector<std::string> groups_in_danger() const;
  /// An incident of a finding of the last poll is kept under that name. Call between polls.
  void name_incident(std::string_view cause, std::string_view object, std::string_view incident);
  [[nodiscard]] Diagnosis diagnosis() const override;
  /// The same, with growth searched now and answers to inspections made after the poll. Takes as long as several polls.
  [[nodiscard]] Diagnosis fresh_diagnosis(const Snapshot& snapshot, std::vector<InspectionAnswer> answers) const;

  /// Threads that currently hang in a read.
  [[nodiscard]] std::size_t stuck_count() const { return reader_.stuck_count(); }

  /// All sources of this kernel's operating system, in reading order, as of the last poll.
  [[nodiscard]] std::vector<SourceStatus> statuses() const override;

 private:
  void note_boot_time();
  void note_state(const PolledSource& source, SourceState before);
  void log_state(const PolledSource& source, SourceState before);
  void publish(const PolledSource& source);
  void order_read(PolledSource& source, std::int64_t now_ns);
  void commit(PolledSource& source, std::int64_t now_ns);
  void succeeded(PolledSource& source, double seconds, std::int64_t now_ns);
  [[nodiscard]] std::chrono::nanoseconds read_timeout() const;
  void read_and_commit(std::int64_t now_ns);
  /// False for a command that prints one page.
  [[nodiscard]] bool is_service() const { return !options_.everything && !options_.unlimited; }
  [[nodiscard]] DeltaTracker::Options tracker_options() const;
  [[nodiscard]] SnapshotExtras extras(Tier tier);
  void remember(const Snapshot& snapshot, std::int64_t now_ns);
  void note_unread_sources();
  /// The evidence is of all types, also of those that are then removed from the snapshot.
  void note_evidence_and_select(const RenderOptions& rendered, std::int64_t now_ns, Snapshot& snapshot);
  void add_recorded_answers(Evidence& evidence);
  void publish_findings(std::int64_t now_ns, std::int64_t realtime_ns);
  void publish_series();
  void note_urgent(const Evidence& evidence);
  void release_peak(std::size_t series);
  /// A bit for each allocator that the sources of this system read.
  [[nodiscard]] std::uint32_t allocators_of_system() const;
  [[nodiscard]] bool poll_or_throw(std::int64_t now_ns);

  std::shared_ptr<OncePerPollView> view_;
  const Clock& clock_;
  SelfMetrics& metrics_;
  SnapshotPool& pool_;
  Options options_;
  Config config_;
  ReaderThread reader_;
  std::vector<SourceRead> reads_;                       // reads of this poll
  std::vector<std::unique_ptr<PolledSource>> sources_;  // in reading order
  std::vector<SourceReader*> readers_;                  // of the sources
  mutable Mutex status_mutex_;
  std::vector<SourceStatus> statuses_ MEMSTAT_GUARDED_BY(status_mutex_);  // of each source, for other threads
  std::unique_ptr<MemoryTypeList> list_;
  std::unique_ptr<DeltaTracker> tracker_;
  std::unique_ptr<SnapshotBuilder> builder_;
  History history_;
  EvidenceBuilder evidence_;
  Evidence growth_;  // only growth
  Findings findings_;
  std::vector<std::size_t> urgent_;  // of findings_
  ActiveFindings active_;
  Holders holders_;
  std::vector<SelfMetrics::FindingSeries> series_;  // of active_
  bool has_finding_info_ = true;                    // in the last poll
  std::int64_t growth_due_ns_ = 0;
  std::int64_t growth_took_ns_ = 0;
  std::int64_t polling_ns_ = 0;         // since the last search for growth
  bool has_new_states_ = true;          // of sources
  std::vector<SourceEvidence> unread_;  // sources
  Selection selection_;
  std::vector<const StagedStatistics*> statistics_;  // statistics of the working sources
  std::vector<std::uint64_t> size_classes_;          // size classes of malloc, B
  std::shared_ptr<const MergedSlabs> merged_slabs_;
  PeakWatch raw_peak_;     // peak of the bytes read
  PeakWatch series_peak_;  // peak of the series
  unsigned polls_before_trim_ = 0;
  std::uint64_t generation_ = 0;
  bool was_cut_ = false;
  std::int64_t boot_time_ns_ = 0;     // 0: unknown
  std::int64_t clock_offset_ns_ = 0;  // realtime minus monotonic time, when the boot time was read
};

}  // namespace memstat
