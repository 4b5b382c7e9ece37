// SPDX-License-Identifier: BSD-2-Clause
// Log lines to standard error, as text or as one JSON object a line.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>

#include "config/config.h"

namespace memstat {

/// The daemon's log. Control characters in a message are written as \xNN, so that a message is always one line.
/// No call waits for whatever reads the log: lines wait in a queue of kCapacityBytes, and what does not fit is dropped and
/// counted; the next line that fits is preceded by one that says how many. Thread safety: safe.
class Log {
 public:
  static constexpr std::size_t kCapacityBytes = std::size_t{128} << 10;

  /// `descriptor`: where the lines go; it stays the caller's.
  explicit Log(const LogConfig& config, int descriptor = 2);
  /// Writes what waits, for LogQueue::kLastWait at most.
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  /// From now on a thread writes the lines. Before privileges are dropped there may be none: until then a line is written by
  /// who logs it, if standard error takes it at once, and else with a later one. Errors: std::system_error.
  void start_thread();

  /// Changes level and format.
  void configure(const LogConfig& config);

  void write(LogLevel level, std::string_view message) noexcept;
  void info(std::string_view message) noexcept { write(LogLevel::kInfo, message); }
  void warning(std::string_view message) noexcept { write(LogLevel::kWarning, message); }
  void error(std::string_view message) noexcept { write(LogLevel::kError, message); }

  /// Waits until all lines are written, at most so long. False when they are not.
  bool flush(std::chrono::milliseconds longest) noexcept;

  /// Lines that were dropped so far.
  [[nodiscard]] std::uint64_t dropped() const noexcept;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

/// Writes "memstatd: MESSAGE" to standard error, in the place of a log; gives up when it is not taken within a second.
/// Allocates nothing.
void complain(std::string_view message) noexcept;

}  // namespace memstat
