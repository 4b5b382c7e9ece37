// SPDX-License-Identifier: BSD-2-Clause
// Reads sources on a separate thread, one after another (parallel reads of procfs slow the kernel down), each with a
// deadline. A read that hangs keeps its thread, and the next source gets a new one. Nothing waits for a hanging thread, not
// even shutdown: a thread in an uninterruptible kernel read cannot be ended. If the kernel refuses the first thread, the
// caller reads.
//
// The poller hands over all sources of a poll at once and waits once, since each hand-over costs two context switches.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>

#include "core/query.h"

namespace memstat {

/// A source to read, and the result.
struct SourceRead {
  std::shared_ptr<SourceReader> source;  ///< Never null.
  Result<void> result = {};              ///< Errors: see ReaderThread::read.
  std::chrono::nanoseconds took{0};      ///< Duration of the read; for a timeout, until the deadline.
};

/// Reads sources on a separate thread. Thread safety: used by one thread (the poller's), except cancel().
class ReaderThread {
 public:
  /// `view` must support concurrent reads, see KernelView.
  explicit ReaderThread(std::shared_ptr<KernelView> view);
  ~ReaderThread();
  ReaderThread(const ReaderThread&) = delete;
  ReaderThread& operator=(const ReaderThread&) = delete;

  /// Reads the sources in order, each for at most `timeout`. Returns when all have been read or given up. Errors: the
  /// source's own; kTimeout if it did not return in time, and then immediately until that read has returned. A source
  /// that still hangs is not read. A source belongs to the thread while is_busy(), otherwise to the caller. Does not
  /// allocate in the steady state. Throws std::bad_alloc only before the first read.
  void read(std::span<SourceRead> reads, std::chrono::nanoseconds timeout);

  /// Whether a read of this source has not returned, so that its buffers must not be touched.
  [[nodiscard]] bool is_busy(const SourceReader& source) const;

  /// Ends the current read() and every later one immediately; sources not read yet get kTimeout. For shutdown. Thread
  /// safety: any thread.
  void cancel();

  /// Whether cancel() was called. Thread safety: any thread.
  [[nodiscard]] bool is_cancelled() const;

  /// Number of threads that currently hang in a read.
  [[nodiscard]] std::size_t stuck_count() const;

 private:
  struct Shared;
  struct Worker;
  static void work(const std::shared_ptr<Shared>& shared, const std::shared_ptr<Worker>& worker);
  /// nullptr: the kernel refuses a new thread.
  std::shared_ptr<Worker> start();

  std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace memstat
