// SPDX-License-Identifier: BSD-2-Clause
// Log lines to standard error, as text or as one JSON object per line, and the queue that they wait in: the descriptor may
// block (a stopped terminal, a pipe without a reader, a file on a dead disk), but writers never wait.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "config/config.h"
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

/// The daemon's log. Control characters in a message are written as \xNN, so that a message is always one line. No call
/// waits for the reader of the log. Lines wait in a queue of kCapacityBytes; lines that do not fit are dropped and counted,
/// and the next one that fits is preceded by a line with their number. Thread safety: safe.
class Log : NotCopyable {
 public:
  static constexpr std::size_t kCapacityBytes = std::size_t{128} << 10;

  /// `descriptor` receives the lines; the caller keeps ownership.
  explicit Log(const LogConfig& config, int descriptor = 2);
  /// Writes pending lines, waiting at most LogQueue::kLastWait.
  ~Log();

  /// Starts the thread that writes the lines. Must be called after privileges are dropped, since no thread may exist before.
  /// Until then write() itself writes the line if standard error accepts it at once; otherwise a later call writes it.
  /// Errors: std::system_error.
  void start_thread();

  void configure(const LogConfig& config);

  void write(LogLevel level, std::string_view message) noexcept;
  void info(std::string_view message) noexcept { write(LogLevel::kInfo, message); }
  void warning(std::string_view message) noexcept { write(LogLevel::kWarning, message); }
  void error(std::string_view message) noexcept { write(LogLevel::kError, message); }

  /// Waits until all lines are written, or for `longest`. Returns whether they are.
  bool flush(std::chrono::milliseconds longest) noexcept;

  [[nodiscard]] std::uint64_t dropped() const noexcept;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

/// Writes "memstatd: MESSAGE" to standard error, without a Log. Gives up after a second. Allocates nothing.
void complain(std::string_view message) noexcept;

}  // namespace memstat
