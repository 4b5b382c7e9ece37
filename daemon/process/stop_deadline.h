// SPDX-License-Identifier: BSD-2-Clause
// The last resort when the daemon stops: whatever does not end in time is left behind, and the process ends.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

#include "core/base/clock.h"
#include "core/base/mutex.h"

namespace memstat {

/// A thread that waits for the deadline of a stop. Made while the daemon starts, because at its end there may be no memory
/// for a thread. Thread safety: used by one thread.
class StopDeadline {
 public:
  /// `on_expiry` is called on the thread when the time is over; it should end the process.
  explicit StopDeadline(std::function<void()> on_expiry, const Clock& clock = system_clock());
  /// Ends the thread; nothing expires any more.
  ~StopDeadline();
  StopDeadline(const StopDeadline&) = delete;
  StopDeadline& operator=(const StopDeadline&) = delete;

  /// From now on, so long.
  void begin(std::chrono::milliseconds time);
  /// There is no deadline any more.
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
