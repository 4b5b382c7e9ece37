// SPDX-License-Identifier: BSD-2-Clause
// The timing of polls: at fixed intervals on a live kernel, at the recorded times in a replay.
#pragma once

#include <cstdint>
#include <optional>

#include "core/capture/replay_view.h"
#include "daemon/poll/poll_loop.h"
#include "daemon/poll/poll_recorder.h"

namespace memstat {

/// Polls the live kernel at absolute deadlines, without end or N times. Missed deadlines are counted and skipped, not made
/// up for.
class LivePacer final : public PollPacer {
 public:
  LivePacer(const Clock& clock, SelfMetrics& metrics, PollRecorder& recorder, const Config& config,
            std::optional<std::uint64_t> polls)
      : clock_(clock),
        metrics_(metrics),
        recorder_(recorder),
        due_ns_(clock.monotonic_ns()),
        interval_ns_(config.poll.interval.count()),
        polls_left_(polls) {}

  std::optional<std::int64_t> next_due_ns() override;
  std::int64_t begin() override;
  void finish() override;
  [[nodiscard]] bool can_poll_between() const override { return true; }
  void finish_between() override { recorder_.finish(); }
  void configure(const Config& config) override;

 private:
  const Clock& clock_;
  SelfMetrics& metrics_;
  PollRecorder& recorder_;
  std::int64_t due_ns_;
  std::int64_t interval_ns_;
  std::optional<std::uint64_t> polls_left_;
};

/// A clock with the time of a capture's current poll, so that a recording of a replay has the capture's times. The view
/// must outlive it. Thread safety: safe.
class ReplayClock final : public Clock {
 public:
  explicit ReplayClock(const ReplayKernelView& capture) : capture_(capture) {}
  [[nodiscard]] std::int64_t monotonic_ns() const override {
    return capture_.poll_info(capture_.selected_poll()).monotonic_ns;
  }
  [[nodiscard]] std::int64_t realtime_ns() const override {
    return capture_.poll_info(capture_.selected_poll()).realtime_ns;
  }

 private:
  const ReplayKernelView& capture_;
};

/// Replays a capture's polls at their recorded intervals, divided by `speed`.
class ReplayPacer final : public PollPacer {
 public:
  struct Options {
    double speed = 1;
    bool loop = false;
    std::optional<std::uint64_t> polls = {};  ///< Maximum number of polls to replay.
  };
  /// The view must outlive this object.
  ReplayPacer(const Clock& clock, ReplayKernelView& capture, Poller& poller, PollRecorder& recorder, Options options);

  std::optional<std::int64_t> next_due_ns() override;
  std::int64_t begin() override;
  void finish() override;
  void configure(const Config& config) override;

 private:
  [[nodiscard]] std::size_t poll_count() const;

  const Clock& clock_;
  ReplayKernelView& capture_;
  Poller& poller_;
  PollRecorder& recorder_;
  Options options_;
  std::size_t next_ = 0;
  std::int64_t due_ns_;
};

}  // namespace memstat
