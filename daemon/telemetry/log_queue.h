// SPDX-License-Identifier: BSD-2-Clause
// Bytes on their way to a descriptor that may not take them: a terminal that is stopped, a pipe that is not read, a file on
// a dead disk. A writer never waits; what does not fit is dropped and counted.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "core/base/clock.h"

namespace memstat {

/// A bounded queue of whole lines, and the thread that writes them. Thread safety: safe.
class LogQueue {
 public:
  /// Lines to the descriptor, which stays the caller's and must stay open as long as the process. `capacity_bytes`: of all
  /// lines that wait.
  LogQueue(int descriptor, std::size_t capacity_bytes, const Clock& clock = system_clock());
  /// Writes what waits, at most for kLastWait; leaves a thread behind that is stuck in a write.
  ~LogQueue();
  LogQueue(const LogQueue&) = delete;
  LogQueue& operator=(const LogQueue&) = delete;

  static constexpr std::chrono::milliseconds kLastWait{300};

  /// Puts the line at the end, or drops it when there is no room. Without a thread it writes what the descriptor takes
  /// without waiting; the rest stays in the queue. Allocates nothing.
  void push(std::string_view line) noexcept;

  /// From now on a thread of its own writes. Errors: std::system_error when there is no thread to be had; the queue works
  /// on without one.
  void start_thread();

  /// Waits until everything is written, at most so long. False when it is not.
  bool flush(std::chrono::milliseconds longest) noexcept;

  /// Lines that were dropped so far.
  [[nodiscard]] std::uint64_t dropped() const noexcept;

  /// A line that could not be made, for lack of memory.
  void count_dropped() noexcept;

 private:
  struct State;
  std::shared_ptr<State> state_;  // its thread may outlive us
};

}  // namespace memstat
