// SPDX-License-Identifier: BSD-2-Clause
// The terminal of memstatctl top, with ncursesw.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/not_copyable.h"
#include "daemon/ctl/top/model.h"

namespace memstat::ctl {

/// The event that ended a wait.
struct ScreenEvent {
  enum class Kind { kTime, kKey, kResized, kSignal, kClosed, kWoken };
  Kind kind = Kind::kTime;
  KeyPress key = {};  ///< For kKey.
  int signal = 0;     ///< For kSignal: one that ends the program.
};

/// Lets the signal that ended a screen take effect, now that the terminal is restored. 0: none.
void let_take_effect(int signal);

/// A full screen. Create it only once per process. The destructor restores the terminal; signals cannot bypass it,
/// because they are reported as events: SIGINT, SIGTERM, SIGHUP, SIGQUIT.
class TopScreen : NotCopyable {
 public:
  TopScreen();
  ~TopScreen();

  /// "" or why there is no screen: the terminal does not support cursor positioning.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] std::size_t width() const;
  [[nodiscard]] std::size_t height() const;
  [[nodiscard]] bool is_utf8() const { return is_utf8_; }
  void draw(const std::vector<TopLine>& lines);
  /// Waits for a key or a signal; returns kWoken while `wake_fd` is readable (-1: none), or kTime after `milliseconds`.
  ScreenEvent wait(int milliseconds, int wake_fd);

 private:
  std::optional<KeyPress> read_key();

  std::string problem_;
  void* screen_ = nullptr;  // SCREEN of curses
  bool is_utf8_ = false;
  bool has_colors_ = false;
};

}  // namespace memstat::ctl
