// SPDX-License-Identifier: BSD-2-Clause
// The last resort when the daemon stops: if something hangs, the process exits without it. Slow work is not killed.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string_view>
#include <thread>

#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "core/base/not_copyable.h"
#include "core/base/sanitizer.h"

namespace memstat {

// A stop that hangs takes at most two seconds: this long without progress, the rest for the log.
#if defined(MEMSTAT_SANITIZED)
inline constexpr std::chrono::milliseconds kStopTime{8000};
#else
inline constexpr std::chrono::milliseconds kStopTime{1500};
#endif
// For a recording that makes progress; leaves time to log why it is incomplete.
#if defined(__FreeBSD__)
inline constexpr std::chrono::milliseconds kRecordingTime{60'000};  // rc(8) gives services 90 s when the machine stops
#else
inline constexpr std::chrono::milliseconds kRecordingTime = kStopTime * 5;  // Docker and systemd kill after 10 s
#endif

/// A thread that waits for a stop that hangs. Created at startup, because at the end there may be no memory for a
/// thread. Thread safety: one thread.
class StopDeadline : NotCopyable {
 public:
  struct Times {
    std::chrono::milliseconds patience;  ///< Without any progress.
    std::chrono::milliseconds limit;     ///< In all.
  };
  /// `on_expiry` is called on the thread with the step that hangs, and should end the process.
  explicit StopDeadline(std::function<void(std::string_view)> on_expiry, const Clock& clock = system_clock());
  /// Ends the thread without expiry.
  ~StopDeadline();

  /// `step`: the work that begins now, a literal.
  void begin(Times times, std::string_view step);
  /// The step before has ended, and this one begins.
  void next(std::string_view step);
  /// A piece was written. CPU time used needs no call: it is progress, too.
  void progress();
  void cancel();

 private:
  void run();
  void renew() MEMSTAT_REQUIRES(mutex_);
  bool has_computed() MEMSTAT_REQUIRES(mutex_);

  std::function<void(std::string_view)> on_expiry_;
  const Clock& clock_;
  Mutex mutex_;
  CondVar wake_;
  bool is_running_ MEMSTAT_GUARDED_BY(mutex_) = false;
  bool must_end_ MEMSTAT_GUARDED_BY(mutex_) = false;
  std::chrono::milliseconds patience_ MEMSTAT_GUARDED_BY(mutex_){};
  TimePoint due_ MEMSTAT_GUARDED_BY(mutex_);
  TimePoint last_ MEMSTAT_GUARDED_BY(mutex_);            // due_ is never later
  std::int64_t used_ns_ MEMSTAT_GUARDED_BY(mutex_) = 0;  // CPU time when due_ was set
  std::string_view step_ MEMSTAT_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace memstat
