// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/poll/poll_recorder.h"

#include <cerrno>
#include <deque>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "core/base/mutex.h"
#include "core/base/thread_name.h"

namespace memstat {
struct PollRecorder::Shared {
  std::shared_ptr<RecordingKernelView> recording;
  SelfMetrics* metrics = nullptr;
  Log log;
  bool in_place = false;
  Bounds bounds;
  const Clock* clock = nullptr;

  Mutex mutex;
  CondVar wake;     // for the thread
  CondVar written;  // for stop()
  std::deque<TakenPoll> queue MEMSTAT_GUARDED_BY(mutex);
  std::vector<TakenPoll> spare MEMSTAT_GUARDED_BY(mutex);  // reused for their capacity
  std::uint64_t queued_bytes MEMSTAT_GUARDED_BY(mutex) = 0;
  bool must_stop MEMSTAT_GUARDED_BY(mutex) = false;
  bool has_stopped MEMSTAT_GUARDED_BY(mutex) = false;
  bool is_dropping MEMSTAT_GUARDED_BY(mutex) = false;
  bool any_failed MEMSTAT_GUARDED_BY(mutex) = false;
  Result<void> last MEMSTAT_GUARDED_BY(mutex);  // result of writing the latest poll
};

PollRecorder::PollRecorder(std::shared_ptr<RecordingKernelView> recording, SelfMetrics& metrics, Log log, Manner manner,
                           Bounds bounds, const Clock& clock) {
  if (recording == nullptr) return;
  shared_ = std::make_shared<Shared>();
  shared_->recording = std::move(recording);
  shared_->metrics = &metrics;
  shared_->log = std::move(log);
  shared_->in_place = manner == Manner::kInPlace;
  shared_->bounds = bounds;
  shared_->clock = &clock;
  metrics.recording_started();
  if (!shared_->in_place) thread_ = std::thread([shared = shared_] { run(shared); });
}

PollRecorder::~PollRecorder() {
  if (!is_stopped_) (void)stop(std::chrono::seconds(1));
}

std::optional<std::int64_t> PollRecorder::begin(std::string_view label) {
  if (shared_ == nullptr) return std::nullopt;
  return shared_->recording->begin_poll(std::string(label));
}

void PollRecorder::finish() {
  if (shared_ == nullptr) return;
  Shared& shared = *shared_;
  TakenPoll poll;
  MutexLock lock(shared.mutex);
  if (!shared.spare.empty()) {
    poll = std::move(shared.spare.back());
    shared.spare.pop_back();
  }
  lock.unlock();
  if (!shared.recording->take_poll(poll)) return;
  if (shared.in_place) {
    write(shared, poll);
    lock.lock();
    shared.spare.push_back(std::move(poll));
    return;
  }
  lock.lock();
  const bool is_full = !shared.queue.empty() && (shared.queue.size() >= shared.bounds.polls ||
                                                 shared.queued_bytes + poll.bytes() > shared.bounds.bytes);
  // Recovery is reported only when the queue is empty. Otherwise a slightly too slow disk would seem to recover at
  // every other poll.
  const bool is_behind = is_full || (shared.is_dropping && !shared.queue.empty());
  const bool is_change = is_behind != std::exchange(shared.is_dropping, is_behind);
  if (!is_full) {
    shared.queued_bytes += poll.bytes();
    shared.queue.push_back(std::move(poll));
  } else if (shared.spare.empty()) {
    shared.spare.push_back(std::move(poll));
  }
  lock.unlock();
  if (is_full) shared.metrics->recording_poll(RecordingOutcome::kDropped);
  if (is_full && is_change) {
    shared.log(
        LogLevel::kWarning,
        "recording: the disk does not keep up, "
        "so polls are missing from the recording (memstat_recording_polls_total counts them); polling and serving continue");
  } else if (is_change) {
    shared.log(LogLevel::kInfo, "recording: the disk keeps up again");
  }
  shared.wake.notify_all();
}

void PollRecorder::write(Shared& shared, TakenPoll& poll) {
  Result<void> result = shared.recording->write_poll(poll);
  MutexLock lock(shared.mutex);
  const bool was_failing = !shared.last;
  const bool is_good = result.has_value();
  shared.any_failed = shared.any_failed || !is_good;
  const std::string why = is_good ? std::string() : to_string(result.error());
  shared.last = std::move(result);
  lock.unlock();
  shared.metrics->recording_poll(is_good ? RecordingOutcome::kWritten : RecordingOutcome::kFailed);
  if (!is_good && !was_failing)
    shared.log(LogLevel::kError, "the recording is suspended; polling and serving continue: " + why);
  if (is_good && was_failing) shared.log(LogLevel::kInfo, "the recording continues");
}

void PollRecorder::run(const std::shared_ptr<Shared>& shared) {
  name_thread("memstatd-record");
  MutexLock lock(shared->mutex);
  while (true) {
    shared->wake.wait(shared->mutex,
                      [&]() MEMSTAT_REQUIRES(shared->mutex) { return shared->must_stop || !shared->queue.empty(); });
    if (shared->queue.empty()) break;  // when stopping, still write what is queued
    TakenPoll poll = std::move(shared->queue.front());
    shared->queue.pop_front();
    shared->queued_bytes -= poll.bytes();
    lock.unlock();
    try {
      write(*shared, poll);
    } catch (const std::exception& exception) {
      shared->metrics->recording_poll(RecordingOutcome::kFailed);
      shared->log(LogLevel::kError, std::string("recording: ") + exception.what());
    }
    lock.lock();
    if (shared->spare.empty()) shared->spare.push_back(std::move(poll));
    shared->written.notify_all();
  }
  shared->has_stopped = true;
  shared->written.notify_all();
}

Result<void> PollRecorder::stop(std::chrono::milliseconds patience, const std::function<bool()>& must_stop) {
  is_stopped_ = true;
  if (shared_ == nullptr) return {};
  Shared& shared = *shared_;
  MutexLock lock(shared.mutex);
  shared.must_stop = true;
  shared.wake.notify_all();
  TimePoint last_sign = shared.clock->now();
  std::int64_t used_ns = shared.clock->cpu_ns();
  for (std::uint64_t progress = shared.recording->progress(); !shared.in_place && !shared.has_stopped;) {
    const std::size_t left = shared.queue.size();
    shared.written.wait_for(shared.mutex, std::chrono::milliseconds(100), [&]() MEMSTAT_REQUIRES(shared.mutex) {
      return shared.has_stopped || shared.queue.size() != left;
    });
    if (shared.has_stopped) break;
    const TimePoint now = shared.clock->now();
    const std::uint64_t before = std::exchange(progress, shared.recording->progress());
    // On a machine that is short of CPUs, a poll takes long before its first piece.
    const bool has_computed = shared.clock->cpu_ns() - used_ns >= kComputedNs;
    const bool has_progress = shared.queue.size() != left || progress != before || has_computed;
    if (has_progress) {
      last_sign = now;
      used_ns = shared.clock->cpu_ns();
    }
    if (now - last_sign < patience && !(has_progress && must_stop && must_stop())) continue;
    lock.unlock();
    thread_.detach();
    Error error =
        system_error(shared.recording->directory(), ETIMEDOUT,
                     "the disk does not respond in time: up to " + std::to_string(left + 1) + " polls are not recorded");
    error.code = ErrorCode::kTimeout;
    return error;
  }
  lock.unlock();
  if (thread_.joinable()) thread_.join();
  lock.lock();
  if (!shared.last || (shared.in_place && shared.any_failed)) {
    if (!shared.last) return shared.last.error();
    return system_error(shared.recording->directory(), EIO, "some polls were not recorded; see the log");
  }
  return {};
}

}  // namespace memstat
