// SPDX-License-Identifier: BSD-2-Clause
// The last resort when the daemon stops: whatever does not end in time is left behind, and the process ends.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace memstat {

/// A thread that waits for the deadline of a stop. Made while the daemon starts, because at its end there may be no memory
/// for a thread. Thread safety: used by one thread.
class StopDeadline {
 public:
  /// `on_expiry` is called on the thread when the time is over; it should end the process.
  explicit StopDeadline(std::function<void()> on_expiry);
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
  std::mutex mutex_;
  std::condition_variable wake_;
  bool is_running_ = false;  // guarded by mutex_, as is all below
  bool must_end_ = false;
  std::chrono::steady_clock::time_point due_;
  std::thread thread_;
};

}  // namespace memstat
