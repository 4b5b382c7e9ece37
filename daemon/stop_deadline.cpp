// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/stop_deadline.h"

#include <utility>

namespace memstat {

StopDeadline::StopDeadline(std::function<void()> on_expiry) : on_expiry_(std::move(on_expiry)), thread_([this] { run(); }) {}

StopDeadline::~StopDeadline() {
  {
    const std::lock_guard lock(mutex_);
    must_end_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void StopDeadline::begin(std::chrono::milliseconds time) {
  {
    const std::lock_guard lock(mutex_);
    due_ = std::chrono::steady_clock::now() + time;
    is_running_ = true;
  }
  wake_.notify_all();
}

void StopDeadline::cancel() {
  const std::lock_guard lock(mutex_);
  is_running_ = false;
}

void StopDeadline::run() {
  std::unique_lock lock(mutex_);
  while (!must_end_) {
    if (!is_running_) {
      wake_.wait(lock);
    } else if (wake_.wait_until(lock, due_) == std::cv_status::timeout && is_running_ && !must_end_ &&
               std::chrono::steady_clock::now() >= due_) {
      is_running_ = false;
      lock.unlock();
      on_expiry_();
      lock.lock();
    }
  }
}

}  // namespace memstat
