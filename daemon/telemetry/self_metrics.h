// SPDX-License-Identifier: BSD-2-Clause
// The daemon's own figures: in a prometheus-cpp registry, durations in histograms of our own.
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
#include "core/kernel/kernel_view.h"
#include "daemon/exposition/format.h"

namespace memstat {

/// What is known of one source's last read.
struct SourceReport {
  double read_seconds = 0;
  std::uint64_t read_bytes = 0;  ///< B that the read brought
  std::size_t types = 0;
  double success_timestamp_seconds = 0;  ///< Unix time
};

/// What became of a poll that was to be recorded.
enum class RecordingOutcome : std::uint8_t {
  kWritten,
  kFailed,   ///< The disk refused it.
  kDropped,  ///< The disk was too slow for it.
};

/// Updates and serialises the daemon's own series. Updating known series allocates nothing.
/// Thread safety: safe.
class SelfMetrics {
 public:
  explicit SelfMetrics(std::string_view version, const Clock& clock = system_clock());
  ~SelfMetrics();
  SelfMetrics(const SelfMetrics&) = delete;
  SelfMetrics& operator=(const SelfMetrics&) = delete;

  void source_succeeded(std::string_view source, const SourceReport& report);
  void source_failed(std::string_view source, ErrorCode code, double read_seconds);
  /// The source is not on this kernel, switched off or spared: none of its series but the error counts.
  void source_absent(std::string_view source);
  /// The source is optional and lacks a privilege: as source_absent(), and a series that names it.
  void source_not_permitted(std::string_view source, std::string_view needs);

  /// `series`: of memory types on the page; `series_dropped`: that series_limit keeps off it.
  void poll_finished(double timestamp_seconds, double duration_seconds, std::size_t series,
                     std::uint64_t series_dropped = 0);
  /// Which kernel the figures are of. `os`: "linux", "freebsd"; `release`: "" when not known.
  void kernel_opened(std::string_view os, std::string_view release);
  /// When it started, in Unix time; it changes when somebody sets the clock. Without a call there is no such series.
  void boot_time(double timestamp_seconds);
  /// Time from one poll to the next, as configured.
  void poll_interval(double seconds);
  void polls_missed(std::size_t count);
  void snapshot_skipped();
  /// A cause that is found now, and how severe it is: texts that live as long as the program.
  struct ActiveFinding {
    std::string_view cause;
    std::string_view severity;
  };
  /// All that were found in the last poll. A cause that was found before keeps its series, at 0.
  void findings_active(std::span<const ActiveFinding> findings);
  void config_reloaded(bool successful);
  void memory_locked(bool locked);
  /// Whether the helper process runs. Without a call there is no such series.
  void helper_up(bool is_up);
  /// Where process_* come from, in place of this process itself. Not null.
  void process_stats_by(std::unique_ptr<ProcessStatsReader> reader);
  /// There is a recording: its counts are on the page from now on, at 0.
  void recording_started();
  void recording_poll(RecordingOutcome outcome);
  /// `total`: since the start.
  void log_lines_dropped(std::uint64_t total);

  /// Grows with every change of a figure (process_* are none of them), so that a page made of them can be kept.
  [[nodiscard]] std::uint64_t version() const;

  /// All series in that format, process_* as of now; what follows the memory types on a page. `options`: only
  /// what it says of the manner counts. `shows`: which families, by name; empty: all. Allocates.
  [[nodiscard]] std::string page(ExpositionFormat format, const RenderOptions& options = {},
                                 const std::function<bool(std::string_view)>& shows = {}) const;
  [[nodiscard]] std::string text() const { return page(kFallbackFormat); }

  /// A series without labels.
  struct Value {
    std::string name;
    double value = 0;
  };
  /// All of them, by name, process_* as of now; of a histogram its count and its sum. Allocates.
  [[nodiscard]] std::vector<Value> values() const;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace memstat
