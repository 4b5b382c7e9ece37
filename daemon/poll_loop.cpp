// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/poll_loop.h"

#include <chrono>

namespace memstat {

std::int64_t PollSchedule::advance(std::int64_t now_ns) {
  due_ns_ += interval_ns_;
  if (due_ns_ > now_ns) return 0;
  const std::int64_t missed = (now_ns - due_ns_) / interval_ns_ + 1;
  due_ns_ += missed * interval_ns_;
  return missed;
}

void PollSchedule::restart(std::int64_t now_ns, std::int64_t interval_ns) {
  interval_ns_ = interval_ns;
  due_ns_ = now_ns + interval_ns;
}

void PollLoop::start() {
  thread_ = std::thread([this] { run(); });
}

void PollLoop::configure(const Config& config) {
  {
    const std::lock_guard lock(mutex_);
    new_config_ = config;
  }
  wake_.notify_all();
}

void PollLoop::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    must_stop_ = true;
  }
  wake_.notify_all();
  poller_.cancel();
  thread_.join();
}

void PollLoop::run() {
  while (true) {
    const std::optional<std::int64_t> due_ns = feed_.next_due_ns();
    std::optional<Config> config;
    {
      std::unique_lock lock(mutex_);
      const auto must_wake = [this] { return must_stop_ || new_config_.has_value(); };
      if (due_ns) {
        const std::chrono::steady_clock::time_point due{std::chrono::nanoseconds(*due_ns)};
        wake_.wait_until(lock, due, must_wake);
      } else {
        if (on_end_) {
          lock.unlock();
          std::exchange(on_end_, nullptr)();
          lock.lock();
        }
        wake_.wait(lock, must_wake);
      }
      if (must_stop_) return;
      config.swap(new_config_);
    }
    if (config) {
      poller_.configure(*config);
      feed_.configure(*config);
      continue;
    }
    poller_.poll(feed_.begin());
    feed_.finish();
  }
}

}  // namespace memstat
