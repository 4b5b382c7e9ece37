// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/process/stop_deadline.h"

#include <utility>

#include "core/base/thread_name.h"

namespace memstat {

StopDeadline::StopDeadline(std::function<void()> on_expiry, const Clock& clock)
    : on_expiry_(std::move(on_expiry)), clock_(clock), thread_([this] { run(); }) {}

StopDeadline::~StopDeadline() {
  {
    const MutexLock lock(mutex_);
    must_end_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void StopDeadline::begin(std::chrono::milliseconds time) {
  const MutexLock lock(mutex_);
  due_ = clock_.now() + time;
  is_running_ = true;
  wake_.notify_all();
}

void StopDeadline::cancel() {
  const MutexLock lock(mutex_);
  is_running_ = false;
}

void StopDeadline::run() {
  name_thread("memstatd-stop");
  MutexLock lock(mutex_);
  while (!must_end_) {
    if (!is_running_) {
      wake_.wait(mutex_);
    } else if (!wake_.wait_until(mutex_, due_) && is_running_ && !must_end_ && clock_.now() >= due_) {
      is_running_ = false;
      lock.unlock();
      on_expiry_();
      lock.lock();
    }
  }
}

}  // namespace memstat
