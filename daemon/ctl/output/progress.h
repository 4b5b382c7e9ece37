// SPDX-License-Identifier: BSD-2-Clause
// A progress line on standard error, if that is a terminal.
#pragma once

#include <cstdint>
#include <string>

namespace memstat::ctl {

/// A progress line on the terminal. Shows nothing in the first second.
class Progress {
 public:
  Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { finish(); }

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

}  // namespace memstat::ctl
