// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/poll/reader_thread.h"

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include "core/base/mutex.h"
#include "core/base/thread_name.h"

namespace memstat {

/// Outlives the ReaderThread when a read is stuck.
struct ReaderThread::Shared {
  /// For one thread only: one that was late when it was given up for stuck must take its own source, not the next one's.
  struct Job {
    std::uint64_t worker;
    std::shared_ptr<SourceReader> source;
  };

  explicit Shared(std::shared_ptr<KernelView> view_of_sources) : view(std::move(view_of_sources)) {}
  [[nodiscard]] bool is_read(const SourceReader& source) const MEMSTAT_REQUIRES(mutex) {
    return std::find(being_read.begin(), being_read.end(), &source) != being_read.end();
  }
  [[nodiscard]] bool has_job(std::uint64_t number) const MEMSTAT_REQUIRES(mutex) {
    return std::any_of(jobs.begin(), jobs.end(), [number](const Job& job) { return job.worker == number; });
  }
  /// Null when there is none for that thread.
  std::shared_ptr<SourceReader> take_job(std::uint64_t number) MEMSTAT_REQUIRES(mutex) {
    const auto job = std::find_if(jobs.begin(), jobs.end(), [number](const Job& one) { return one.worker == number; });
    if (job == jobs.end()) return nullptr;
    std::shared_ptr<SourceReader> source = std::move(job->source);
    jobs.erase(job);
    return source;
  }

  const std::shared_ptr<KernelView> view;
  Mutex mutex;
  CondVar wake_worker;
  CondVar wake_poller;
  std::uint64_t worker MEMSTAT_GUARDED_BY(mutex) = 0;  // number of the thread that reads now; older ones are stuck
  std::vector<Job> jobs MEMSTAT_GUARDED_BY(mutex);     // not begun yet
  std::vector<const SourceReader*> being_read MEMSTAT_GUARDED_BY(mutex);
  Result<void> result MEMSTAT_GUARDED_BY(mutex);  // of what `worker` read last
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

/// No exception may leave a thread's body.
Result<void> read_guarded(SourceReader& reader, KernelView& view) {
  try {
    return read_source(reader, view);
  } catch (const std::bad_alloc&) {  // of a source that poller and log name; there is no memory to say more
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

ReaderThread::ReaderThread(std::shared_ptr<KernelView> view) : shared_(std::make_shared<Shared>(std::move(view))) {}

ReaderThread::~ReaderThread() {
  if (!thread_.joinable()) return;
  {
    const MutexLock lock(shared_->mutex);
    shared_->must_stop = true;
  }
  shared_->wake_worker.notify_all();
  thread_.join();  // it is idle: a stuck one was detached when its deadline passed
}

void ReaderThread::work(const std::shared_ptr<Shared>& shared, std::uint64_t number) {
  name_thread("memstatd-read");
  MutexLock lock(shared->mutex);
  while (true) {
    shared->wake_worker.wait(shared->mutex,
                             [&]() MEMSTAT_REQUIRES(shared->mutex) { return shared->has_job(number) || shared->must_stop; });
    const std::shared_ptr<SourceReader> source = shared->take_job(number);
    if (source == nullptr) return;
    lock.unlock();
    Result<void> result = read_guarded(*source, *shared->view);
    lock.lock();
    std::erase(shared->being_read, source.get());
    if (shared->worker != number) {
      --shared->stuck;
      return;
    }
    shared->result = std::move(result);
    shared->wake_poller.notify_one();
  }
}

Result<void> ReaderThread::read(const std::shared_ptr<SourceReader>& source, std::chrono::nanoseconds timeout) {
  MutexLock lock(shared_->mutex);
  if (shared_->is_read(*source)) {
    return timeout_error(*source, "a read of an earlier poll has not returned yet; the source is read again when it has");
  }
  if (shared_->is_cancelled) return timeout_error(*source, "memstatd is stopping");
  if (!thread_.joinable()) {
    thread_ = std::thread([shared = shared_, number = shared_->worker] { work(shared, number); });
  }
  shared_->being_read.push_back(source.get());
  shared_->jobs.push_back({.worker = shared_->worker, .source = source});
  shared_->wake_worker.notify_all();
  shared_->wake_poller.wait_for(shared_->mutex, timeout, [&]() MEMSTAT_REQUIRES(shared_->mutex) {
    return !shared_->is_read(*source) || shared_->is_cancelled;
  });
  if (!shared_->is_read(*source)) return std::move(shared_->result);
  ++shared_->worker;
  ++shared_->stuck;
  thread_.detach();
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count();
  return timeout_error(*source, "no answer within " + std::to_string(milliseconds) +
                                    " ms (poll.timeout); the read continues on its own; other sources are not affected");
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
