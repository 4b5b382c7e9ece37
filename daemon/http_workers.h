// SPDX-License-Identifier: BSD-2-Clause
// What civetweb's worker threads are doing, and the guard that frees one when all are held by clients that do nothing.
//
// civetweb gives each connection a thread. Half-sent headers, idle keep-alive connections and clients that do not read hold
// one each; when all threads are held, the guard shuts down the connection that has waited longest past its grace, so that a
// scrape waits tens of milliseconds instead of the whole header deadline.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/base/result.h"

namespace memstat {

/// What one worker thread does at this moment.
enum class WorkerState {
  kFree,       ///< Has no connection.
  kWaiting,    ///< Waits for a request's header.
  kAnswering,  ///< Runs the handler or sends its answer.
  kStalled,    ///< Waits for a client that does not read.
};

/// The table of worker threads. Thread safety: safe.
class HttpWorkers {
 public:
  /// How long a connection may wait when others want its thread: for a header, and for the client to read.
  static constexpr std::chrono::milliseconds kHeaderGrace{100};
  static constexpr std::chrono::milliseconds kReadGrace{1000};

  HttpWorkers() = default;
  ~HttpWorkers();
  HttpWorkers(const HttpWorkers&) = delete;
  HttpWorkers& operator=(const HttpWorkers&) = delete;

  /// Starts the guard for `count` worker threads. Fails when the system gives no pipe or thread.
  Result<void> start(std::size_t count);

  /// Ends the guard and shuts down every connection known here, now and from now on. Idempotent.
  void stop();

  /// Worker `index` took a connection. `descriptor` is -1 when it is not known.
  void begin(std::size_t index, int descriptor);
  /// Worker `index` changed to `state`; kWaiting starts the wait anew.
  void change(std::size_t index, WorkerState state, int descriptor);
  /// Worker `index` is about to close its connection: nothing here touches its descriptor from now on.
  void end(std::size_t index);

  /// Whether so many workers have a connection that keeping this one open would be at others' expense.
  [[nodiscard]] bool crowded() const;
  /// How many connections the guard has shut down.
  [[nodiscard]] std::size_t evictions() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Worker {
    WorkerState state = WorkerState::kFree;
    int descriptor = -1;
    bool shut_down = false;
    Clock::time_point since;
  };

  void guard();
  void wake_guard();
  void shut_down(Worker& worker);
  // With the mutex held: frees what is due, and says when the next one is.
  Clock::time_point evict_oldest();

  mutable std::mutex mutex_;
  std::vector<Worker> workers_;
  std::size_t busy_ = 0;
  std::size_t evictions_ = 0;
  bool stopping_ = false;
  int wake_pipe_[2] = {-1, -1};
  std::thread guard_;
};

}  // namespace memstat
