// SPDX-License-Identifier: BSD-2-Clause
// The daemon's own metrics: a prometheus-cpp registry, with durations in our own histograms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/not_copyable.h"
#include "core/kernel/kernel_view.h"
#include "daemon/exposition/rendered_snapshot.h"

namespace memstat {

struct SourceReport {
  double read_seconds = 0;
  std::uint64_t read_bytes = 0;  ///< bytes read
  std::size_t types = 0;
  double success_timestamp_seconds = 0;  ///< Unix time
};

/// The outcome of a poll that was to be recorded.
enum class RecordingOutcome : std::uint8_t {
  kWritten,
  kFailed,   ///< Rejected by the disk.
  kDropped,  ///< The disk was too slow.
};

/// Updates and serializes the daemon's own series. Updating existing series allocates nothing. Thread safety: safe.
class SelfMetrics : NotCopyable {
 public:
  explicit SelfMetrics(std::string_view version, const Clock& clock = system_clock());
  ~SelfMetrics();

  void source_succeeded(std::string_view source, const SourceReport& report);
  void source_failed(std::string_view source, ErrorCode code, double read_seconds);
  /// The source does not exist on this kernel, is off or replaced: removes its series except the error counts.
  void source_absent(std::string_view source);
  /// The source is optional and lacks a privilege: like source_absent(), plus a series that names the privilege.
  void source_not_permitted(std::string_view source, std::string_view needs);

  /// `series` is the number of memory type series on the page; `series_dropped` those omitted because of series_limit.
  void poll_finished(double timestamp_seconds, double duration_seconds, std::size_t series,
                     std::uint64_t series_dropped = 0);
  /// Sets the kernel. `os` is "linux" or "freebsd"; `release` may be "" if unknown.
  void kernel_opened(std::string_view os, std::string_view release);
  /// Sets the boot time in Unix time, which changes when the clock is set. Without a call the series does not exist.
  void boot_time(double timestamp_seconds);
  void poll_interval(double seconds);
  void polls_missed(std::size_t count);
  void snapshot_skipped();
  /// A finding that is active, or has ended lately. The pair of cause and object is unique.
  struct FindingSeries {
    std::string_view cause;
    std::string_view object = {};
    unsigned level = 0;       ///< 4 now, 3 soon, 2 wasteful, 1 notable, 0 ended
    std::uint64_t begun = 0;  ///< how often it became active
    std::string_view headline = {};
    std::string_view culprit = {};
    std::string_view next = {};
    std::string_view since = {};  ///< when it became active
    std::string_view certainty = {};
    std::string_view incident = {};  ///< the name of its incident; "": none
  };
  /// Replaces all findings. `dropped` is the number of those without a series; active ones have memstat_finding_info if
  /// `has_info`.
  void findings(std::span<const FindingSeries> findings, std::size_t dropped, bool has_info = true);
  void config_reloaded(bool successful);
  void memory_locked(bool locked);
  /// Whether the helper process runs. Without a call the series does not exist.
  void helper_up(bool is_up);
  /// Reads process_* from `reader`, which must not be null, instead of from this process.
  void process_stats_by(std::unique_ptr<ProcessStatsReader> reader);
  /// Adds the recording counters, at 0.
  void recording_started();
  void recording_poll(RecordingOutcome outcome);
  /// An incident was kept, or could not be.
  void incident(std::string_view cause);
  /// `total` is since the start.
  void log_lines_dropped(std::uint64_t total);

  /// Increases with every change of a figure except process_*, so that a rendered page can be cached.
  [[nodiscard]] std::uint64_t version() const;

  /// All series in that format, with process_* read now: the part of a page after the memory types. Of `options` only the
  /// style is used. `shows` selects families by name; empty: all. Allocates.
  [[nodiscard]] std::string page(ExpositionFormat format, const RenderOptions& options = {},
                                 const std::function<bool(std::string_view)>& shows = {}) const;
  [[nodiscard]] std::string text() const { return page(kFallbackFormat); }

  struct Value {
    std::string name;
    double value = 0;
  };
  /// All of them by name, with process_* read now; of a histogram, count and sum. Allocates.
  [[nodiscard]] std::vector<Value> values() const;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace memstat
