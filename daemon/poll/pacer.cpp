// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/poll/pacer.h"

#include <algorithm>

namespace memstat {

std::optional<std::int64_t> LivePacer::next_due_ns() {
  if (polls_left_ == std::uint64_t{0}) return std::nullopt;
  return due_ns_;
}

std::int64_t LivePacer::begin() {
  // Use the recorded time, so that a replay computes the same rates.
  const auto recorded_ns = recorder_.begin("live");
  return recorded_ns ? *recorded_ns : clock_.monotonic_ns();
}

void LivePacer::finish() {
  recorder_.finish();
  if (polls_left_) --*polls_left_;
  const std::int64_t planned_ns = due_ns_ + interval_ns_;
  due_ns_ = next_in_schedule(planned_ns, interval_ns_, clock_.monotonic_ns());
  if (due_ns_ != planned_ns) metrics_.polls_missed(static_cast<std::size_t>((due_ns_ - planned_ns) / interval_ns_));
}

void LivePacer::configure(const Config& config) {
  interval_ns_ = config.poll.interval.count();
  due_ns_ = clock_.monotonic_ns() + interval_ns_;
}

ReplayPacer::ReplayPacer(const Clock& clock, ReplayKernelView& capture, Poller& poller, PollRecorder& recorder,
                         Options options)
    : clock_(clock),
      capture_(capture),
      poller_(poller),
      recorder_(recorder),
      options_(options),
      due_ns_(clock.monotonic_ns()) {}

std::size_t ReplayPacer::poll_count() const {
  const std::size_t all = capture_.poll_count();
  return options_.polls ? static_cast<std::size_t>(std::min<std::uint64_t>(all, *options_.polls)) : all;
}

std::optional<std::int64_t> ReplayPacer::next_due_ns() {
  if (next_ >= poll_count()) return std::nullopt;
  return due_ns_;
}

std::int64_t ReplayPacer::begin() {
  const PollInfo& poll = capture_.poll_info(next_);
  (void)capture_.select_poll(next_);  // before the recording begins, which takes its time from the poll; next_ is in range
  (void)recorder_.begin(poll.label);
  if (next_ == 0) poller_.forget_everything();
  return poll.monotonic_ns;
}

void ReplayPacer::finish() {
  recorder_.finish();
  const std::int64_t this_ns = capture_.poll_info(next_).monotonic_ns;
  ++next_;
  std::int64_t wait_ns = 0;
  if (next_ < poll_count()) {
    wait_ns = capture_.poll_info(next_).monotonic_ns - this_ns;
  } else if (options_.loop) {
    // Back to the first poll, after the interval of the last two, or ten seconds.
    wait_ns = next_ >= 2 ? this_ns - capture_.poll_info(next_ - 2).monotonic_ns : 10'000'000'000;
    next_ = 0;
  }
  const double scaled = static_cast<double>(std::max<std::int64_t>(wait_ns, 0)) / options_.speed;
  due_ns_ = clock_.monotonic_ns() + static_cast<std::int64_t>(std::clamp(scaled, 1e6, 1e17));
}

void ReplayPacer::configure(const Config&) {}  // the capture determines the times

}  // namespace memstat
