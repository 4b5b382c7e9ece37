// SPDX-License-Identifier: BSD-2-Clause
// Output to a descriptor that may block: a stopped terminal, a pipe without a reader, a file on a dead disk. Writers never
// wait; lines that do not fit are dropped and counted.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "core/base/clock.h"
#include "core/base/not_copyable.h"

namespace memstat {

/// A bounded queue of whole lines, and the thread that writes them. Thread safety: safe.
class LogQueue : NotCopyable {
 public:
  /// Lines go to `descriptor`, which the caller owns and must keep open until the process ends. `capacity_bytes` limits all
  /// pending lines.
  LogQueue(int descriptor, std::size_t capacity_bytes, const Clock& clock = system_clock());
  /// Writes pending lines for at most kLastWait, and abandons a thread that is stuck in a write.
  ~LogQueue();

  static constexpr std::chrono::milliseconds kLastWait{300};

  /// Appends the line, or drops it if there is no room. Without a thread it writes as much as the descriptor accepts without
  /// blocking; the rest remains queued. Allocates nothing.
  void push(std::string_view line) noexcept;

  /// Starts the writing thread. Errors: std::system_error if no thread can be created; the queue continues without one.
  void start_thread();

  /// Waits until all lines are written, or for `longest`. Returns whether they are.
  bool flush(std::chrono::milliseconds longest) noexcept;

  [[nodiscard]] std::uint64_t dropped() const noexcept;

  /// Counts a line that could not be formatted for lack of memory.
  void count_dropped() noexcept;

 private:
  struct State;
  std::shared_ptr<State> state_;  // its thread may outlive the queue
};

}  // namespace memstat
