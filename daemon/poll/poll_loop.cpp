// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/poll/poll_loop.h"

#include <algorithm>
#include <exception>

#include "core/base/thread_name.h"

namespace memstat {
namespace {

constexpr std::chrono::milliseconds kAfterFailure{100};
// Five million events a second cost 15 % of a CPU. In this interval that is three eighths of the credit that a 1 %
// budget may spend at once.
constexpr std::chrono::milliseconds kTendInterval{250};

}  // namespace

void PollLoop::start() {
  thread_ = std::thread([this] { run(); });
}

void PollLoop::configure(const Config& config) {
  {
    const MutexLock lock(mutex_);
    new_config_ = config;
  }
  wake_.notify_all();
}

void PollLoop::stop() {
  if (!thread_.joinable()) return;
  {
    const MutexLock lock(mutex_);
    must_stop_ = true;
  }
  wake_.notify_all();
  polled_.notify_all();
  poller_.cancel();
  thread_.join();
}

bool PollLoop::refresh(std::chrono::nanoseconds max_age, TimePoint deadline) {
  const TimePoint oldest = clock_.now() - max_age;
  MutexLock lock(mutex_);
  const auto is_young = [&]() MEMSTAT_REQUIRES(mutex_) { return last_begin_ && *last_begin_ >= oldest; };
  if (is_young()) return true;
  if (must_stop_ || !pacer_.can_poll_between()) return false;
  while (!is_young()) {
    is_poll_wanted_ = true;  // taken back by the current poll, if any, which may have begun too early
    wake_.notify_all();
    if (!polled_.wait_until(mutex_, deadline) || must_stop_) return is_young();
  }
  return true;
}

bool PollLoop::is_late(std::chrono::nanoseconds patience) {
  const TimePoint now = clock_.now();
  const MutexLock lock(mutex_);
  return due_ && now - *due_ > patience;
}

void PollLoop::poll_once(bool is_due) {
  const TimePoint begin = clock_.now();
  const std::int64_t now_ns = pacer_.begin();
  poller_.poll(now_ns);
  if (poller_.was_cut()) return;  // its recording would report missing sources
  if (is_due) {
    pacer_.finish();
  } else {
    pacer_.finish_between();
  }
  if (on_poll_) on_poll_();
  {
    const MutexLock lock(mutex_);
    last_begin_ = begin;
    is_poll_wanted_ = false;
  }
  polled_.notify_all();
  poller_.look_for_growth(now_ns);
}

void PollLoop::run() {
  name_thread("memstatd-poll");
  TimePoint tend_at = TimePoint::max();
  while (true) {
    const std::optional<std::int64_t> due_ns = pacer_.next_due_ns();
    std::optional<Config> config;
    bool is_due = true;
    bool is_between = false;  // woken only to tend sources
    {
      MutexLock lock(mutex_);
      const auto must_wake = [this]() MEMSTAT_REQUIRES(mutex_) {
        return must_stop_ || new_config_.has_value() || is_poll_wanted_;
      };
      due_.reset();
      if (due_ns) {
        const TimePoint due = due_.emplace(std::chrono::nanoseconds(*due_ns));
        const bool is_woken = wake_.wait_until(mutex_, std::min(due, tend_at), must_wake);
        is_due = clock_.now() >= due;
        is_between = !is_woken && !is_due;
      } else {
        if (on_end_) {
          lock.unlock();
          std::exchange(on_end_, nullptr)();
          lock.lock();
        }
        is_due = false;
        wake_.wait(mutex_, must_wake);
      }
      if (must_stop_) return;
      config.swap(new_config_);
    }
    try {
      if (config) {
        poller_.configure(*config);
        pacer_.configure(*config);
      } else if (!is_between) {
        poll_once(is_due);
      }
      tend_at = poller_.tend() ? clock_.now() + kTendInterval : TimePoint::max();
    } catch (const std::exception&) {  // std::bad_alloc: retry, but not at once
      MutexLock lock(mutex_);
      if (config && !new_config_) new_config_.swap(config);
      if (wake_.wait_for(mutex_, kAfterFailure, [this]() MEMSTAT_REQUIRES(mutex_) { return must_stop_; })) return;
    }
  }
}

}  // namespace memstat
