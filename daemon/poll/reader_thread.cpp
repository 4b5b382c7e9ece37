// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/poll/reader_thread.h"

#include <exception>

#include "core/base/mutex.h"

namespace memstat {

/// Outlives the ReaderThread when a read is stuck.
struct ReaderThread::Shared {
  std::shared_ptr<KernelView> view;
  Mutex mutex;
  CondVar wake_worker;
  CondVar wake_poller;
  std::size_t stuck MEMSTAT_GUARDED_BY(mutex) = 0;
  bool is_cancelled MEMSTAT_GUARDED_BY(mutex) = false;
};

/// What one thread is asked to do. All guarded by Shared::mutex, which clang cannot check for the reason that PolledSource
/// gives.
struct ReaderThread::Worker {
  std::shared_ptr<PolledSource> job;
  bool is_abandoned = false;
  bool must_stop = false;
};

namespace {

Error timeout_error(const PolledSource& source, std::string_view detail) {
  return Error{.code = ErrorCode::kTimeout,
               .source = std::string(source.reader.descriptor->name),
               .path = std::string(source.reader.descriptor->origin),
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

ReaderThread::ReaderThread(std::shared_ptr<KernelView> view) : shared_(std::make_shared<Shared>()) {
  shared_->view = std::move(view);
}

ReaderThread::~ReaderThread() {
  if (!thread_.joinable()) return;
  {
    const MutexLock lock(shared_->mutex);
    worker_->must_stop = true;
  }
  shared_->wake_worker.notify_all();
  thread_.join();  // it is idle: a stuck one was detached when its deadline passed
}

void ReaderThread::start_worker() {
  worker_ = std::make_shared<Worker>();
  thread_ = std::thread([shared = shared_, worker = worker_] { work(shared, worker); });
}

void ReaderThread::work(const std::shared_ptr<Shared>& shared, const std::shared_ptr<Worker>& worker) {
  MutexLock lock(shared->mutex);
  while (true) {
    shared->wake_worker.wait(shared->mutex, [&] { return worker->job != nullptr || worker->must_stop; });
    if (worker->job == nullptr) return;
    const std::shared_ptr<PolledSource> source = worker->job;
    lock.unlock();
    Result<void> result = read_guarded(source->reader, *shared->view);
    lock.lock();
    source->result_ = std::move(result);
    source->is_busy_ = false;
    worker->job.reset();
    if (worker->is_abandoned) {
      --shared->stuck;
      return;
    }
    shared->wake_poller.notify_one();
  }
}

Result<void> ReaderThread::read(const std::shared_ptr<PolledSource>& source, std::chrono::nanoseconds timeout) {
  MutexLock lock(shared_->mutex);
  if (source->is_busy_) {
    return timeout_error(*source, "a read of an earlier poll has not returned yet; the source is read again when it has");
  }
  if (shared_->is_cancelled) return timeout_error(*source, "memstatd is stopping");
  if (!thread_.joinable()) start_worker();
  source->is_busy_ = true;
  worker_->job = source;
  shared_->wake_worker.notify_all();
  shared_->wake_poller.wait_for(shared_->mutex, timeout, [&]() MEMSTAT_REQUIRES(shared_->mutex) {
    return !source->is_busy_ || shared_->is_cancelled;
  });
  if (!source->is_busy_) return std::move(source->result_);
  worker_->is_abandoned = true;
  ++shared_->stuck;
  thread_.detach();
  worker_.reset();
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count();
  return timeout_error(*source, "no answer within " + std::to_string(milliseconds) +
                                    " ms (poll.timeout); the read continues on its own; other sources are not affected");
}

bool ReaderThread::is_busy(const PolledSource& source) const {
  const MutexLock lock(shared_->mutex);
  return source.is_busy_;
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
