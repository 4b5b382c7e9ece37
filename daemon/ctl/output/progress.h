// SPDX-License-Identifier: BSD-2-Clause
// Waits with a progress line on standard error, if that is a terminal, and waits that ^C ends.
#pragma once

#include <csignal>
#include <cstdint>
#include <string>

#include "core/base/not_copyable.h"

namespace memstat::ctl {

/// A progress line on the terminal. Shows nothing in the first second.
class Progress : NotCopyable {
 public:
  Progress();
  ~Progress() { finish(); }

  /// Whether show() would show anything now: a text may take longer to make than that takes to ask.
  [[nodiscard]] bool is_due() const;
  /// Replaces the text, at most ten times per second.
  void show(const std::string& text);
  /// Clears the line.
  void finish();

 private:
  const bool is_terminal_;
  std::int64_t next_ns_;  // monotonic
  bool is_shown_ = false;
};

/// Waits with a progress line: "counting: 3 of 10 s".
void wait_ns(std::int64_t window_ns, const std::string& what);

/// While it exists, SIGINT, SIGTERM and SIGHUP only end this object's waits. Thread safety: none; one instance at a
/// time, in the only thread.
class StopSignals : NotCopyable {
 public:
  StopSignals();
  ~StopSignals();

  /// Waits until the monotonic clock reaches `due_ns`. Returns false as soon as a signal arrives, or if one has arrived
  /// before.
  bool wait_until(std::int64_t due_ns);
  /// Whether a signal has arrived.
  bool has_arrived();

 private:
  bool take(std::int64_t longest_ns);

  sigset_t signals_{};
  sigset_t before_{};
  bool has_come_ = false;
};

}  // namespace memstat::ctl
