// SPDX-License-Identifier: BSD-2-Clause
// The polling thread. pacer.h has its schedule.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <thread>

#include "config/config.h"
#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "daemon/poll/poller.h"

namespace memstat {

/// Decides when to poll, and prepares the view for each poll.
class PollPacer {
 public:
  virtual ~PollPacer() = default;
  /// Due time of the next poll (monotonic time of this process); empty after the last one.
  virtual std::optional<std::int64_t> next_due_ns() = 0;
  /// Prepares the poll that is due. Returns the monotonic time of its figures.
  virtual std::int64_t begin() = 0;
  /// Call after a poll that was due.
  virtual void finish() = 0;
  /// Whether extra polls are possible between those that are due. Not in a capture, whose polls are fixed.
  [[nodiscard]] virtual bool can_poll_between() const { return false; }
  /// Call after an extra poll. The schedule is unchanged.
  virtual void finish_between() {}
  virtual void configure(const Config& config) = 0;
};

/// The polling thread. Thread safety: start, configure and stop by one thread; refresh by any.
class PollLoop {
 public:
  /// `on_end` is called on the polling thread after the last poll; if empty, the last poll stays published. `on_poll`
  /// is called on the polling thread after each poll; may be empty. `clock` must be the pacer's.
  PollLoop(Poller& poller, PollPacer& pacer, std::function<void()> on_end, std::function<void()> on_poll = {},
           const Clock& clock = system_clock())
      : poller_(poller), pacer_(pacer), on_end_(std::move(on_end)), on_poll_(std::move(on_poll)), clock_(clock) {}
  ~PollLoop() { stop(); }

  void start();
  /// Takes effect immediately: the next poll is one interval from now.
  void configure(const Config& config);

  /// For a scrape. If the last poll began more than `max_age` ago, waits for the end of the current poll or of a new
  /// one, until `deadline` at most. All callers share one poll. Returns whether the published snapshot is recent
  /// enough. Thread safety: safe.
  bool refresh(std::chrono::nanoseconds max_age, TimePoint deadline);
  /// Whether the current or due poll should have ended `patience` ago. Thread safety: safe.
  [[nodiscard]] bool is_late(std::chrono::nanoseconds patience);
  /// Does not wait for sources that hang.
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
  CondVar wake_;    // for the polling thread
  CondVar polled_;  // for callers waiting for a poll
  bool must_stop_ MEMSTAT_GUARDED_BY(mutex_) = false;
  std::optional<Config> new_config_ MEMSTAT_GUARDED_BY(mutex_);
  bool is_poll_wanted_ MEMSTAT_GUARDED_BY(mutex_) = false;          // by a scrape
  std::optional<TimePoint> last_begin_ MEMSTAT_GUARDED_BY(mutex_);  // start of the last finished poll
  std::optional<TimePoint> due_ MEMSTAT_GUARDED_BY(mutex_);         // due time of the next or current poll
  std::thread thread_;
};

}  // namespace memstat
