// SPDX-License-Identifier: BSD-2-Clause
// When to poll: absolute deadlines on the live kernel, the capture's own times in a replay; and the thread that does it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "config/config.h"
#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "daemon/poll/poller.h"

namespace memstat {

/// Absolute monotonic deadlines, an interval apart. Missed ones are counted and skipped, never replayed.
/// Thread safety: none.
class PollSchedule {
 public:
  /// The first poll is due at `first_ns`.
  PollSchedule(std::int64_t first_ns, std::int64_t interval_ns) : due_ns_(first_ns), interval_ns_(interval_ns) {}

  [[nodiscard]] std::int64_t due_ns() const { return due_ns_; }
  /// Goes on to the next deadline after `now_ns`; returns how many were missed on the way.
  std::int64_t advance(std::int64_t now_ns);
  /// A new interval, counted from `now_ns`.
  void restart(std::int64_t now_ns, std::int64_t interval_ns);

 private:
  std::int64_t due_ns_;
  std::int64_t interval_ns_;
};

/// What paces the polls and prepares the view for each.
class PollPacer {
 public:
  virtual ~PollPacer() = default;
  /// When the next poll is due (monotonic, of our own clock), or nothing when there is none any more.
  virtual std::optional<std::int64_t> next_due_ns() = 0;
  /// Prepares the poll that is due. Returns the monotonic time that its figures are of.
  virtual std::int64_t begin() = 0;
  /// After a poll that was due.
  virtual void finish() = 0;
  /// Whether the kernel can be polled beside the beat: not so for a capture, whose polls are what they are.
  [[nodiscard]] virtual bool can_poll_between() const { return false; }
  /// After a poll between two that are due: the beat goes on as before.
  virtual void finish_between() {}
  /// A new poll interval.
  virtual void configure(const Config& config) = 0;
};

/// The thread that polls. Thread safety: start, configure and stop by one thread; refresh by any.
class PollLoop {
 public:
  /// `on_end` is called on the poll thread when the pacer has no more polls; nothing: the last one is held.
  /// `on_poll` is called on the poll thread after each poll; may be empty. `clock` is the one of the pacer.
  PollLoop(Poller& poller, PollPacer& pacer, std::function<void()> on_end, std::function<void()> on_poll = {},
           const Clock& clock = system_clock())
      : poller_(poller), pacer_(pacer), on_end_(std::move(on_end)), on_poll_(std::move(on_poll)), clock_(clock) {}
  ~PollLoop() { stop(); }

  void start();
  /// Takes effect at once: the next poll is an interval from now.
  void configure(const Config& config);

  /// For a scrape: when the last poll began longer than `max_age` ago, waits for the end of one that begins now or is under
  /// way, at most until `deadline`. All callers share one poll. Returns whether the published snapshot is that young.
  /// Thread safety: safe.
  bool refresh(std::chrono::nanoseconds max_age, TimePoint deadline);
  /// Whether the poll that is due, or under way, should have ended `patience` ago. Thread safety: safe.
  [[nodiscard]] bool is_late(std::chrono::nanoseconds patience);
  /// Does not wait for a source that does not answer.
  void stop();

 private:
  void run();
  void poll_once(bool is_due);

  Poller& poller_;
  PollPacer& pacer_;
  std::function<void()> on_end_;
  std::function<void()> on_poll_;
  const Clock& clock_;
  Mutex mutex_;
  CondVar wake_;    // the poll thread
  CondVar polled_;  // callers that wait for a poll
  bool must_stop_ MEMSTAT_GUARDED_BY(mutex_) = false;
  std::optional<Config> new_config_ MEMSTAT_GUARDED_BY(mutex_);
  bool is_poll_wanted_ MEMSTAT_GUARDED_BY(mutex_) = false;          // by a scrape
  std::optional<TimePoint> last_begin_ MEMSTAT_GUARDED_BY(mutex_);  // of the last finished poll
  std::optional<TimePoint> due_ MEMSTAT_GUARDED_BY(mutex_);         // of the poll that is waited for or under way
  std::thread thread_;
};

}  // namespace memstat
