// SPDX-License-Identifier: BSD-2-Clause
// When to poll: absolute deadlines on the live kernel, the capture's own times in a replay; and the thread that does it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "config/config.h"
#include "core/base/clock.h"
#include "daemon/poller.h"

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
class PollFeed {
 public:
  virtual ~PollFeed() = default;
  /// When the next poll is due (monotonic, of our own clock), or nothing when there is none any more.
  virtual std::optional<std::int64_t> next_due_ns() = 0;
  /// Prepares the poll that is due. Returns the monotonic time that its figures are of.
  virtual std::int64_t begin() = 0;
  /// After the poll.
  virtual void finish() = 0;
  /// A new poll interval.
  virtual void configure(const Config& config) = 0;
};

/// The thread that polls. Thread safety: start, configure and stop by one thread.
class PollLoop {
 public:
  /// `on_end` is called on the poll thread when the feed has no more polls; nothing: the last one is held.
  PollLoop(Poller& poller, PollFeed& feed, std::function<void()> on_end)
      : poller_(poller), feed_(feed), on_end_(std::move(on_end)) {}
  ~PollLoop() { stop(); }

  void start();
  /// Takes effect at once: the next poll is an interval from now.
  void configure(const Config& config);
  /// Does not wait for a source that does not answer.
  void stop();

 private:
  void run();

  Poller& poller_;
  PollFeed& feed_;
  std::function<void()> on_end_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool must_stop_ = false;            // guarded by mutex_
  std::optional<Config> new_config_;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace memstat
