// SPDX-License-Identifier: BSD-2-Clause
// Reads sources on a thread of their own, one after the other (parallel reads of procfs hurt the kernel), each with a
// deadline. A read that does not return keeps its thread; the next source gets a new one, and no thread waits for the stuck
// one, not even shutdown: a thread in an uninterruptible kernel read cannot be ended.
#pragma once

#include <chrono>
#include <memory>
#include <thread>

#include "core/query.h"

namespace memstat {

/// A source as the daemon holds it: shared by the poller and by a read that may be stuck in it.
class PolledSource {
 public:
  explicit PolledSource(const SourceDescriptor& descriptor) : reader(descriptor) {}

  /// Belongs to the reader thread while is_busy(), else to the poller.
  SourceReader reader;

 private:
  friend class ReaderThread;
  // Guarded by the mutex of ReaderThread::Shared. clang cannot check it: an annotation names a mutex by a path that begins
  // at this object, and none leads there, because Shared outlives the ReaderThread and serves all sources.
  bool is_busy_ = false;
  Result<void> result_;
};

/// Thread safety: used by one thread (the poller), except cancel().
class ReaderThread {
 public:
  /// `view` must be usable from several threads at once, see KernelView.
  explicit ReaderThread(std::shared_ptr<KernelView> view);
  ~ReaderThread();
  ReaderThread(const ReaderThread&) = delete;
  ReaderThread& operator=(const ReaderThread&) = delete;

  /// Reads `source`, waiting `timeout` at most. Errors: what the source says; kTimeout when it did not return in time, and
  /// again, at once, for as long as that read has not returned. Nothing is read of a source that is still stuck.
  Result<void> read(const std::shared_ptr<PolledSource>& source, std::chrono::nanoseconds timeout);

  /// Whether a read of the source has not returned, so that its buffers are not the caller's.
  [[nodiscard]] bool is_busy(const PolledSource& source) const;

  /// Makes a read() that is waiting, and every later one, return kTimeout at once. For shutdown. Thread safety: any thread.
  void cancel();

  /// Whether cancel() was called. Thread safety: any thread.
  [[nodiscard]] bool is_cancelled() const;

  /// Threads that are stuck in a read now.
  [[nodiscard]] std::size_t stuck_count() const;

 private:
  struct Shared;
  struct Worker;
  void start_worker();
  static void work(const std::shared_ptr<Shared>& shared, const std::shared_ptr<Worker>& worker);

  std::shared_ptr<Shared> shared_;
  std::shared_ptr<Worker> worker_;
  std::thread thread_;
};

}  // namespace memstat
