// SPDX-License-Identifier: BSD-2-Clause
// Counts the events of a kernel's log and keeps the most recent ones, as records are read one by one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/buffer.h"
#include "core/model/kernel_log.h"
#include "core/model/system_metric.h"

namespace memstat {

inline constexpr SystemMetric kKernelLogEvents =
    counter_metric("memstat_kernel_log_events_total", Tier::kDefault,
                   "Kernel log lines that report a kill, a failed allocation, a full table or a memory error, since boot as "
                   "far as the log goes back, by event.",
                   {"event"});

/// Storage is reused.
class KernelLogBook {
 public:
  /// Longer lines are truncated to this many bytes. The kernel's longest group path is 4096.
  static constexpr std::size_t kMaxLine = 1024;

  /// `events`: those that the table counts, a constant.
  explicit KernelLogBook(std::span<const LogEvent> events = kLinuxLogEvents) : events_(events) {}

  /// Adds one record as read from /dev/kmsg. Ignores anything else.
  void add(std::string_view bytes);
  /// Adds an event with its line. `time_us`: since boot; nothing: not known. `more`: other lines that belong to it; the
  /// first kMaxMoreLines are kept.
  void add(LogEvent event, std::optional<std::uint64_t> time_us, std::string_view line,
           std::span<const std::string_view> more = {});
  [[nodiscard]] std::uint64_t count(LogEvent event) const { return counts_[static_cast<std::size_t>(event)]; }
  /// Replaces `out` with the table. Throws std::bad_alloc.
  void write(Buffer& out) const;

 private:
  struct Entry {
    LogEvent event{};
    std::optional<std::uint64_t> time_us;
    std::string text;
    std::array<std::string, kMaxMoreLines> more;  // "": none
  };
  [[nodiscard]] Entry& last() { return kept_[size_ - 1]; }
  std::string_view with_backslashes(std::string_view line);
  bool keep_for_kill(std::string_view line);
  bool keep_for_vmalloc(LogEvent event, std::uint64_t time_us, std::string_view line);
  bool keep_task(std::string_view line);
  void add_lines_of_kill(Entry& kill);
  Entry& make_room();

  std::span<const LogEvent> events_;
  std::array<std::uint64_t, kLogEventCount> counts_{};
  std::array<Entry, kKeptLogEvents> kept_;  // oldest first
  std::size_t size_ = 0;
  std::uint64_t lost_ = 0;
  std::uint64_t expected_ = 0;  // sequence number of the next record
  bool has_begun_ = false;
  std::array<std::string, kMaxMoreLines> before_kill_;  // the last lines of each kind that precede a kill
  std::string unescaped_;
  std::array<std::uint64_t, 2> task_pages_{};  // of the largest processes in before_kill_
};

}  // namespace memstat
