// SPDX-License-Identifier: BSD-2-Clause
// One source as the poller sees it: when it is read, and what its reads and errors say about its state.
//
// A source that the kernel lacks at the start is absent, not down: a module may be loaded later, so it is tried again each
// minute. Once it was up, its absence is a failure. A missing privilege takes it down if types are lost with it; otherwise
// it is not permitted, which nobody needs to mend. A source whose figures another one has is replaced, and read again at
// once when the other one fails.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "core/query.h"
#include "daemon/telemetry/self_metrics.h"
#include "daemon/telemetry/source_status.h"

namespace memstat {

/// Thread safety: the poller's thread.
class PolledSource {
 public:
  /// Called after each change of its state or error, with the state before. Each change is reported once.
  using OnChange = std::function<void(const PolledSource& source, SourceState before)>;

  PolledSource(const SourceDescriptor& source, std::size_t index, OnChange on_change);

  /// Relates it to `earlier`, which is read before it: that one may replace it, or have the figures of its types.
  void relate(PolledSource& earlier);

  /// Takes effect with the next read. A source that is off is not read.
  void configure(const Config& config, bool is_replay);
  /// Gives the reader its new options and what another source provides. Not while a read is running.
  void prepare();

  /// The result of opening it, with privileges. classify_refusal() follows when all sources are open.
  void opened(const Result<void>& result);

  [[nodiscard]] bool is_off() const { return is_off_; }
  /// Whether to read it in a poll at `now_ns` whatever other sources have.
  [[nodiscard]] bool is_due(std::int64_t now_ns) const { return now_ns >= next_due_ns_; }
  /// Whether the source that replaces it is up. That one was committed earlier in this poll.
  [[nodiscard]] bool is_replaced() const { return replacement_ != nullptr && replacement_->is_up(); }
  /// Whether it will probably be replaced in this poll.
  [[nodiscard]] bool is_likely_replaced() const { return replacement_ != nullptr && replacement_->may_be_up(); }
  /// Whether its last read found that another source has all its figures, and that one may still have them.
  [[nodiscard]] bool is_covered() const {
    return status_.state == SourceState::kReplaced && has_cover() && !has_new_options_;
  }
  /// Whether another source has figures of the same types, and is or may be up.
  [[nodiscard]] bool has_cover() const { return cover_ != nullptr && cover_->may_be_up(); }
  [[nodiscard]] bool is_up() const { return status_.state == SourceState::kUp; }

  /// A read begins. `poll_interval`: a poll may come early by a tenth of it.
  void set_next_due(std::int64_t now_ns, std::chrono::nanoseconds poll_interval);
  /// Whether a captured poll lacks a slow source because it was not due: it was present within twice its interval.
  [[nodiscard]] bool was_not_due(const Error& error, std::int64_t now_ns) const;

  // ---- the result of this poll ----

  /// The reader's staging has the figures.
  void succeeded(double read_seconds, std::int64_t now_ns, double unix_seconds);
  void failed(const Error& error, double read_seconds, std::int64_t now_ns);
  /// The source that replaces it is up.
  void set_replaced();
  /// Another source has all its figures. Requires has_cover().
  void set_covered();
  /// Sets the state of a source without permission: "not permitted" rather than "down" if no types are lost without it.
  /// Whether a roster is up is known only after all reads.
  void classify_refusal(std::int64_t now_ns);
  /// Reports the result to the metrics, once.
  void report(SelfMetrics& metrics);

  /// A replay's time restarts.
  void forget_reads();

  [[nodiscard]] const SourceDescriptor& descriptor() const { return *descriptor_; }
  [[nodiscard]] const SourceConfig& config() const { return config_; }
  [[nodiscard]] const std::shared_ptr<SourceReader>& reader() const { return reader_; }
  [[nodiscard]] const SourceStatus& status() const { return status_; }
  /// In the poller's order of reading.
  [[nodiscard]] std::size_t index() const { return index_; }
  /// Whether its error is a missing privilege that it never had.
  [[nodiscard]] bool is_refused() const { return !refusal_.empty(); }

  static constexpr std::size_t kNoRead = ~std::size_t{0};
  std::size_t read = kNoRead;  ///< Index in this poll's reads.

 private:
  /// What the metrics do not know yet.
  struct Outcome {
    enum class Kind : std::uint8_t { kNone, kSucceeded, kFailed, kAbsent, kNotPermitted };
    Kind kind = Kind::kNone;
    SourceReport report = {};
    ErrorCode code = ErrorCode::kUndefined;  // of a failure
  };

  /// Its reading interval; 0: at every poll.
  [[nodiscard]] std::chrono::nanoseconds interval() const { return config_.interval.value_or(descriptor_->interval); }
  [[nodiscard]] bool is_refusal(const Error& error) const;
  [[nodiscard]] bool is_absence(const Error& error) const;
  /// Whether it is up, or opened but not read yet.
  [[nodiscard]] bool may_be_up() const {
    return is_up() || (status_.state == SourceState::kUnknown && is_open_ && refusal_.empty());
  }
  /// Whether no types are lost without it: it adds values only, and the roster that it replaces, if any, has the types.
  [[nodiscard]] bool is_optional() const {
    return !descriptor_->is_roster && (replaced_ == nullptr || replaced_->may_be_up());
  }
  void retry_in_a_minute(std::int64_t now_ns);
  void set_state(SourceState state, std::string_view error);

  const SourceDescriptor* descriptor_;
  const std::size_t index_;
  OnChange on_change_;
  std::shared_ptr<SourceReader> reader_;       // shared with a read that may hang in it
  const PolledSource* replacement_ = nullptr;  // the source that replaces this one
  const PolledSource* replaced_ = nullptr;     // the roster that this one replaces
  const PolledSource* cover_ = nullptr;        // replaces the roster of these types, and may have their figures
  SourceConfig config_;
  bool is_off_ = false;
  std::vector<SourceOptionValue> new_options_;  // for the reader, once no read is running
  bool has_new_options_ = false;
  std::int64_t next_due_ns_ = INT64_MIN;
  std::int64_t last_read_ns_ = INT64_MIN;  // successful reads only
  Outcome outcome_;
  bool is_open_ = false;                   // opening succeeded
  bool was_absent_at_start_ = false;       // then later errors without privileges say nothing
  bool was_up_ = false;                    // then absence is a failure
  std::optional<ErrorCode> open_failure_;  // of open(), which reads still return
  std::string refusal_;                    // the error if is_refusal(), else ""
  SourceStatus status_;
};

}  // namespace memstat
