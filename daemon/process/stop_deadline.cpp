// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/process/stop_deadline.h"

#include <algorithm>
#include <utility>

#include "core/base/thread_name.h"

namespace memstat {
StopDeadline::StopDeadline(std::function<void(std::string_view)> on_expiry, const Clock& clock)
    : on_expiry_(std::move(on_expiry)), clock_(clock), thread_([this] { run(); }) {}

StopDeadline::~StopDeadline() {
  {
    const MutexLock lock(mutex_);
    must_end_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void StopDeadline::begin(Times times, std::string_view step) {
  {
    const MutexLock lock(mutex_);
    patience_ = times.patience;
    last_ = clock_.now() + times.limit;
    step_ = step;
    is_running_ = true;
    renew();
  }
  wake_.notify_all();
}

void StopDeadline::next(std::string_view step) {
  const MutexLock lock(mutex_);
  step_ = step;
  renew();
}

void StopDeadline::progress() {
  const MutexLock lock(mutex_);
  renew();
}

void StopDeadline::cancel() {
  const MutexLock lock(mutex_);
  is_running_ = false;
}

void StopDeadline::renew() {
  due_ = std::min(clock_.now() + patience_, last_);
  used_ns_ = clock_.cpu_ns();
}

/// Whether the process is not stuck but only slow, on a machine that is short of CPUs or memory.
bool StopDeadline::has_computed() { return due_ < last_ && clock_.cpu_ns() - used_ns_ >= kComputedNs; }

void StopDeadline::run() {
  name_thread("memstatd-stop");
  MutexLock lock(mutex_);
  while (!must_end_) {
    if (!is_running_) {
      wake_.wait(mutex_);
    } else if (!wake_.wait_until(mutex_, due_) && is_running_ && !must_end_ && clock_.now() >= due_) {
      if (has_computed()) {
        renew();
        continue;
      }
      is_running_ = false;
      const std::string_view step = step_;
      lock.unlock();
      on_expiry_(step);
      lock.lock();
    }
  }
}

}  // namespace memstat
