// SPDX-License-Identifier: BSD-2-Clause
// The terminal of memstatctl top, with ncursesw.
#pragma once

#include <csignal>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "daemon/ctl/top/model.h"

namespace memstat::ctl {

/// What a screen waited for.
struct ScreenEvent {
  enum class Kind { kTime, kKey, kResized, kSignal, kClosed, kWoken };
  Kind kind = Kind::kTime;
  KeyPress key = {};  ///< Of kKey.
  int signal = 0;     ///< Of kSignal: one that ends the program.
};

/// A full screen. Made and destroyed once a process: what the terminal was before comes back with the destructor, which
/// signals do not go around, because they are events: SIGINT, SIGTERM, SIGHUP, SIGQUIT. Thread safety: none.
class TopScreen {
 public:
  TopScreen();
  TopScreen(const TopScreen&) = delete;
  TopScreen& operator=(const TopScreen&) = delete;
  ~TopScreen();

  /// "" or why there is no screen: the terminal is not one that can be written to anywhere.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] std::size_t width() const;
  [[nodiscard]] std::size_t height() const;
  [[nodiscard]] bool is_utf8() const { return is_utf8_; }
  void draw(const std::vector<TopLine>& lines);
  /// The next key or signal, kWoken while there is something to read from `wake_fd` (-1: there is no such thing), or kTime
  /// after `milliseconds`.
  ScreenEvent wait(int milliseconds, int wake_fd);

 private:
  std::optional<KeyPress> read_key();

  std::string problem_;
  void* screen_ = nullptr;  // SCREEN of curses
  bool is_utf8_ = false;
  bool has_colors_ = false;
};

}  // namespace memstat::ctl
