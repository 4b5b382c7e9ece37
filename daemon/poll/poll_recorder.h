// SPDX-License-Identifier: BSD-2-Clause
// Records each poll without ever making polls wait for the disk.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>

#include "core/base/clock.h"
#include "core/capture/recording_view.h"
#include "daemon/telemetry/log.h"
#include "daemon/telemetry/self_metrics.h"

namespace memstat {

/// Records polls, if there is a recording. A separate thread writes them from a bounded queue. If the queue is full,
/// the poll is dropped and counted (memstat_recording_polls_total). Thread safety: begin and finish on the polling
/// thread; stop on one thread after the last finish.
class PollRecorder {
 public:
  /// Receives problems with the recording, once until it recovers, and the recovery. Called on the polling thread or
  /// the recorder's own.
  using Log = std::function<void(LogLevel, std::string_view)>;

  enum class Manner : std::uint8_t {
    kInThread,  ///< When serving: polls never wait.
    kInPlace,   ///< For --once: a poll is written before the next begins.
  };
  struct Bounds {
    std::size_t polls = 4;              ///< Maximum number of queued polls; at least 1.
    std::uint64_t bytes = 64ULL << 20;  ///< Maximum size of queued polls; a single poll may be larger.
  };

  /// Without a recording: does nothing.
  PollRecorder() = default;
  /// `metrics` must outlive it. Starts the thread with the caller's signal mask and privileges.
  PollRecorder(std::shared_ptr<RecordingKernelView> recording, SelfMetrics& metrics, Log log, Manner manner, Bounds bounds,
               const Clock& clock = system_clock());
  PollRecorder(std::shared_ptr<RecordingKernelView> recording, SelfMetrics& metrics, Log log, Manner manner)
      : PollRecorder(std::move(recording), metrics, std::move(log), manner, Bounds{}) {}
  /// Like stop() with a timeout of one second.
  ~PollRecorder();
  PollRecorder(const PollRecorder&) = delete;
  PollRecorder& operator=(const PollRecorder&) = delete;

  /// The monotonic time recorded for this poll; empty without a recording.
  std::optional<std::int64_t> begin(std::string_view label);
  void finish();

  /// Waits until the queue is written, but only for `patience` after the disk last accepted a piece, and until
  /// `must_stop`, called after each, returns true. Returns an error if the recording is incomplete: the last poll could not
  /// be written, or in place, any poll. After kTimeout the thread is still waiting for the disk, and still uses its objects.
  Result<void> stop(std::chrono::milliseconds patience, const std::function<bool()>& must_stop = {});

 private:
  struct Shared;
  static void run(const std::shared_ptr<Shared>& shared);
  static void write(Shared& shared, TakenPoll& poll);

  std::shared_ptr<Shared> shared_;  // shared with the thread, which may hang on the disk forever
  std::thread thread_;
  bool is_stopped_ = false;
};

}  // namespace memstat
