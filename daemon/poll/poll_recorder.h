// SPDX-License-Identifier: BSD-2-Clause
// Records each poll, without the polls ever waiting for the disk.
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

/// Wraps each poll in a recording, when there is one. What was read is written by a thread of its own behind a bounded
/// queue: a poll that finds the queue full is dropped and counted (memstat_recording_polls_total).
/// Thread safety: begin and finish belong to the poll thread; stop to one thread after the last finish.
class PollRecorder {
 public:
  /// Is given what goes wrong with the recording, once until it goes right again, and its recovery. On the poll thread or
  /// the recorder's own.
  using Log = std::function<void(LogLevel, std::string_view)>;

  enum class Manner : std::uint8_t {
    kInThread,  ///< Serving: polls never wait.
    kInPlace,   ///< --once: every poll is written before the next one begins.
  };
  struct Bounds {
    std::size_t polls = 4;              ///< That wait to be written; at least 1.
    std::uint64_t bytes = 64ULL << 20;  ///< Of what they read; one poll may be larger.
  };

  /// Without a recording: does nothing.
  PollRecorder() = default;
  /// `metrics` must outlive it. Starts the thread: with the signal mask and the privileges of the caller.
  PollRecorder(std::shared_ptr<RecordingKernelView> recording, SelfMetrics& metrics, Log log, Manner manner, Bounds bounds,
               const Clock& clock = system_clock());
  PollRecorder(std::shared_ptr<RecordingKernelView> recording, SelfMetrics& metrics, Log log, Manner manner)
      : PollRecorder(std::move(recording), metrics, std::move(log), manner, Bounds{}) {}
  /// As stop() with a second's patience.
  ~PollRecorder();
  PollRecorder(const PollRecorder&) = delete;
  PollRecorder& operator=(const PollRecorder&) = delete;

  /// The monotonic time that is recorded for the poll; nothing when there is no recording.
  std::optional<std::int64_t> begin(std::string_view label);
  void finish();

  /// Waits until what is queued is written, at most so long after the disk last took a poll and in no case beyond `due`.
  /// Then: nothing, or why the recording is not what it should be: the last poll could not be written; in place: any could
  /// not. An error of kTimeout means that the thread still waits for the disk, with all that it uses.
  Result<void> stop(std::chrono::milliseconds patience, TimePoint due = TimePoint::max());

 private:
  struct Shared;
  static void run(const std::shared_ptr<Shared>& shared);
  static void write(Shared& shared, TakenPoll& poll);

  std::shared_ptr<Shared> shared_;  // also the thread's, which may hang on the disk for ever
  std::thread thread_;
  bool is_stopped_ = false;
};

}  // namespace memstat
