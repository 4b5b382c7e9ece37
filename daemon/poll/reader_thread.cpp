// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/poll/reader_thread.h"

#include <algorithm>
#include <exception>
#include <system_error>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "core/base/thread_name.h"

namespace memstat {
namespace {

/// An exception must not escape from a thread.
Result<void> read_guarded(SourceReader& reader, KernelView& view) {
  try {
    return read_source(reader, view);
  } catch (const std::bad_alloc&) {  // no memory for details; the poller and the log name the source
    return Error{.code = ErrorCode::kNoMemory, .source = {}, .path = {}, .system_errno = 0, .offset = {}, .detail = {}};
  } catch (const std::exception& exception) {
    return Error{.code = ErrorCode::kIo,
                 .source = std::string(reader.descriptor->name),
                 .path = std::string(reader.descriptor->origin),
                 .system_errno = 0,
                 .offset = {},
                 .detail = exception.what()};
  }
}

}  // namespace

/// A thread that reads. Guarded by Shared::mutex.
struct ReaderThread::Worker {
  /// What it reads next. A thread that was late and has been given up must take its own source, not the next one's.
  std::shared_ptr<SourceReader> source;
};

/// Outlives the ReaderThread if a read hangs.
struct ReaderThread::Shared {
  explicit Shared(std::shared_ptr<KernelView> view_of_sources) : view(std::move(view_of_sources)) {}
  [[nodiscard]] bool is_read(const SourceReader& source) const MEMSTAT_REQUIRES(mutex) {
    return std::find(being_read.begin(), being_read.end(), &source) != being_read.end();
  }
  [[nodiscard]] bool is_done() const MEMSTAT_REQUIRES(mutex) { return at == batch.size(); }
  /// Reserves memory, so that nothing throws during reads.
  void reserve(std::size_t reads) MEMSTAT_REQUIRES(mutex) {
    batch.reserve(reads);
    being_read.reserve(being_read.size() + reads);
  }
  /// Assigns the source at `at`, if any, to the current thread.
  void begin() MEMSTAT_REQUIRES(mutex) {
    if (is_done()) return;
    begun = system_clock().now();
    being_read.push_back(batch[at]->source.get());
    worker->source = batch[at]->source;
  }
  /// Completes the read at `at`.
  void finish(Result<void> result) MEMSTAT_REQUIRES(mutex) {
    batch[at]->result = std::move(result);
    batch[at]->took = system_clock().now() - begun;
    ++at;
  }
  /// Reads on the caller's thread. There is no deadline then, but there are figures of the shortage of threads.
  void read_here() MEMSTAT_REQUIRES(mutex) {
    while (!is_done() && !is_cancelled) {
      begun = system_clock().now();
      SourceReader& source = *batch[at]->source;
      mutex.unlock();
      Result<void> result = read_guarded(source, *view);
      mutex.lock();
      finish(std::move(result));
    }
  }
  /// Abandons the current thread to its read.
  void give_up() MEMSTAT_REQUIRES(mutex) {
    worker = nullptr;
    ++stuck;
  }

  const std::shared_ptr<KernelView> view;
  Mutex mutex;
  CondVar wake_worker;
  CondVar wake_poller;
  std::shared_ptr<Worker> worker MEMSTAT_GUARDED_BY(mutex);  // the current thread, if any; older threads hang
  std::vector<SourceRead*> batch MEMSTAT_GUARDED_BY(mutex);  // owned by the caller of read(), who is waiting
  std::size_t at MEMSTAT_GUARDED_BY(mutex) = 0;              // index of the current read
  TimePoint begun MEMSTAT_GUARDED_BY(mutex);                 // start time of the current read
  std::vector<const SourceReader*> being_read MEMSTAT_GUARDED_BY(mutex);
  std::size_t stuck MEMSTAT_GUARDED_BY(mutex) = 0;
  bool must_stop MEMSTAT_GUARDED_BY(mutex) = false;
  bool is_cancelled MEMSTAT_GUARDED_BY(mutex) = false;
};

namespace {

Error timeout_error(const SourceReader& source, std::string_view detail) {
  return Error{.code = ErrorCode::kTimeout,
               .source = std::string(source.descriptor->name),
               .path = std::string(source.descriptor->origin),
               .system_errno = 0,
               .offset = {},
               .detail = std::string(detail)};
}

}  // namespace

ReaderThread::ReaderThread(std::shared_ptr<KernelView> view) : shared_(std::make_shared<Shared>(std::move(view))) {}

ReaderThread::~ReaderThread() {
  if (!thread_.joinable()) return;
  {
    const MutexLock lock(shared_->mutex);
    shared_->must_stop = true;
  }
  shared_->wake_worker.notify_all();
  thread_.join();  // idle: a hanging thread was detached at its deadline
}

void ReaderThread::work(const std::shared_ptr<Shared>& shared, const std::shared_ptr<Worker>& worker) {
  name_thread("memstatd-read");
  MutexLock lock(shared->mutex);
  while (true) {
    shared->wake_worker.wait(
        shared->mutex, [&]() MEMSTAT_REQUIRES(shared->mutex) { return worker->source != nullptr || shared->must_stop; });
    const std::shared_ptr<SourceReader> source = std::exchange(worker->source, nullptr);
    if (source == nullptr) return;
    lock.unlock();
    Result<void> result = read_guarded(*source, *shared->view);
    lock.lock();
    std::erase(shared->being_read, source.get());
    if (shared->worker != worker) {
      --shared->stuck;
      return;
    }
    shared->finish(std::move(result));
    shared->begin();
    if (!shared->is_done()) continue;
    lock.unlock();  // so that the poller need not wait for the lock
    shared->wake_poller.notify_one();
    lock.lock();
  }
}

std::shared_ptr<ReaderThread::Worker> ReaderThread::start() {
  auto worker = std::make_shared<Worker>();
  try {
    thread_ = std::thread([shared = shared_, worker] { work(shared, worker); });
  } catch (const std::system_error&) {
    return nullptr;
  }
  return worker;
}

void ReaderThread::read(std::span<SourceRead> reads, std::chrono::nanoseconds timeout) {
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count();
  Shared& shared = *shared_;
  MutexLock lock(shared.mutex);
  shared.batch.clear();
  shared.at = 0;
  shared.reserve(reads.size());
  for (SourceRead& read : reads) {
    read.took = {};
    if (shared.is_read(*read.source)) {
      read.result = timeout_error(*read.source,
                                  "a read of an earlier poll has not returned yet; the source is read again when it has");
    } else {
      shared.batch.push_back(&read);
    }
  }
  if (!shared.is_done() && !shared.is_cancelled) {
    if (!thread_.joinable()) shared.worker = start();
    if (shared.worker == nullptr) {
      shared.read_here();
    } else {
      shared.begin();
    }
  }
  while (!shared.is_done() && !shared.is_cancelled) {
    lock.unlock();  // so that the thread need not wait for the lock
    shared.wake_worker.notify_all();
    lock.lock();
    const TimePoint deadline = shared.begun + timeout;
    const auto has_ended = [&shared]() MEMSTAT_REQUIRES(shared.mutex) { return shared.is_done() || shared.is_cancelled; };
    if (shared.wake_poller.wait_until(shared.mutex, deadline, has_ended)) break;
    if (shared.begun + timeout > system_clock().now()) continue;  // that read has returned, and so have later ones
    shared.give_up();
    thread_.detach();
    shared.finish(timeout_error(*shared.batch[shared.at]->source,
                                "no answer within " + std::to_string(milliseconds) +
                                    " ms (poll.timeout); the read continues on its own; other sources are not affected"));
    if (shared.is_done()) break;
    shared.worker = start();
    if (shared.worker == nullptr) break;
    shared.begin();
  }
  if (!shared.is_done() && shared.worker != nullptr && shared.is_read(*shared.batch[shared.at]->source)) {
    shared.give_up();
    thread_.detach();
  }
  const std::string_view why =
      shared.is_cancelled ? "memstatd is stopping" : "another read hangs, and the kernel refuses a new thread";
  while (!shared.is_done()) shared.finish(timeout_error(*shared.batch[shared.at]->source, why));
}

bool ReaderThread::is_busy(const SourceReader& source) const {
  const MutexLock lock(shared_->mutex);
  return shared_->is_read(source);
}

void ReaderThread::cancel() {
  {
    const MutexLock lock(shared_->mutex);
    shared_->is_cancelled = true;
  }
  shared_->wake_poller.notify_all();
}

bool ReaderThread::is_cancelled() const {
  const MutexLock lock(shared_->mutex);
  return shared_->is_cancelled;
}

std::size_t ReaderThread::stuck_count() const {
  const MutexLock lock(shared_->mutex);
  return shared_->stuck;
}

}  // namespace memstat
