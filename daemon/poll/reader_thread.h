// SPDX-License-Identifier: BSD-2-Clause
// Reads sources on a thread of their own, one after the other (parallel reads of procfs hurt the kernel), each with a
// deadline. A read that does not return keeps its thread; the next source gets a new one, and no thread waits for the stuck
// one, not even shutdown: a thread in an uninterruptible kernel read cannot be ended.
//
// The poller hands over all sources of a poll at once and waits once, since each hand-over costs two switches of threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>

#include "core/query.h"

namespace memstat {

/// A source to read, and what came of it. Thread safety: a plain value.
struct SourceRead {
  std::shared_ptr<SourceReader> source;  ///< Never null.
  Result<void> result = {};              ///< Errors: see ReaderThread::read.
  std::chrono::nanoseconds took{0};      ///< From the start of the read to its end; of a timeout, to the deadline.
};

/// Thread safety: used by one thread (the poller's), except cancel().
class ReaderThread {
 public:
  /// `view` must be usable from several threads at once, see KernelView.
  explicit ReaderThread(std::shared_ptr<KernelView> view);
  ~ReaderThread();
  ReaderThread(const ReaderThread&) = delete;
  ReaderThread& operator=(const ReaderThread&) = delete;

  /// Reads the sources in their order, each for at most `timeout`, and returns when all have been read or given up. Errors
  /// of each: what the source says; kTimeout when it did not return in time, and again, at once, for as long as that read
  /// has not returned. Nothing is read of a source that is still stuck. A source belongs to the thread while is_busy(), else
  /// to the caller. Steady state: no allocation. Throws std::bad_alloc before the first read only.
  void read(std::span<SourceRead> reads, std::chrono::nanoseconds timeout);

  /// Whether a read of the source has not returned, so that its buffers are not the caller's.
  [[nodiscard]] bool is_busy(const SourceReader& source) const;

  /// Ends a read() that is waiting, and every later one, at once; what was not read yet is kTimeout. For shutdown.
  /// Thread safety: any thread.
  void cancel();

  /// Whether cancel() was called. Thread safety: any thread.
  [[nodiscard]] bool is_cancelled() const;

  /// Threads that are stuck in a read now.
  [[nodiscard]] std::size_t stuck_count() const;

 private:
  struct Shared;
  static void work(const std::shared_ptr<Shared>& shared, std::uint64_t number);
  void start(std::uint64_t number);

  std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace memstat
