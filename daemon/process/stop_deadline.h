// SPDX-License-Identifier: BSD-2-Clause
// The last resort when the daemon stops: if something does not finish in time, the process exits without it.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

#include "core/base/clock.h"
#include "core/base/mutex.h"

namespace memstat {

/// A thread that waits for the deadline of a stop. Created at startup, because at the end there may be no memory for a
/// thread. Thread safety: one thread.
class StopDeadline {
 public:
  /// `on_expiry` is called on the thread at the deadline and should end the process.
  explicit StopDeadline(std::function<void()> on_expiry, const Clock& clock = system_clock());
  /// Ends the thread without expiry.
  ~StopDeadline();
  StopDeadline(const StopDeadline&) = delete;
  StopDeadline& operator=(const StopDeadline&) = delete;

  void begin(std::chrono::milliseconds time);
  void cancel();

 private:
  void run();

  std::function<void()> on_expiry_;
  const Clock& clock_;
  Mutex mutex_;
  CondVar wake_;
  bool is_running_ MEMSTAT_GUARDED_BY(mutex_) = false;
  bool must_end_ MEMSTAT_GUARDED_BY(mutex_) = false;
  TimePoint due_ MEMSTAT_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace memstat
