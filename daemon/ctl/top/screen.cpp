// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/top/screen.h"

#define NCURSES_NOMACROS 1  // the macros would break ::name
#define NCURSES_WIDECHAR 1  // FreeBSD's header has both kinds of characters
#include <fcntl.h>
#include <langinfo.h>
#include <ncurses.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <cwchar>

#include "core/base/utf8.h"

namespace memstat::ctl {
namespace {

constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH};
std::array<struct sigaction, kSignals.size()> actions_before{};
std::array<int, 2> signal_pipe{-1, -1};

/// Only records the signal: curses must not be called in a handler.
void record_signal(int signal) {
  const int error = errno;
  const auto byte = static_cast<unsigned char>(signal);
  [[maybe_unused]] const ssize_t written = ::write(signal_pipe[1], &byte, 1);
  errno = error;
}

/// Call after initializing curses, which installs its own handlers.
void take_signals() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    struct sigaction action {};
    action.sa_handler = record_signal;
    sigemptyset(&action.sa_mask);
    ::sigaction(kSignals.at(i), &action, nullptr);
  }
}

enum ColorPair : short { kRed = 1, kYellow = 2 };

attr_t attributes_of(LineStyle look, bool has_colors) {
  switch (look) {
    case LineStyle::kCritical: return A_BOLD | (has_colors ? COLOR_PAIR(kRed) : 0);
    case LineStyle::kWarning: return has_colors ? COLOR_PAIR(kYellow) : A_BOLD;
    case LineStyle::kProblem: return A_BOLD | (has_colors ? COLOR_PAIR(kYellow) : 0);
    case LineStyle::kTitle: return A_BOLD;
    case LineStyle::kHeading: return A_REVERSE;
    case LineStyle::kContainer: return A_DIM;
    case LineStyle::kPlain: break;
  }
  return A_NORMAL;
}

/// Converts UTF-8 to what the terminal can display.
std::wstring wide_text(std::string_view text, bool is_utf8) {
  std::wstring out;
  while (!text.empty()) {
    const std::size_t size = std::max<std::size_t>(character_size(text), 1);
    const std::uint32_t character = first_character(text);
    const auto shown = static_cast<wchar_t>(character);
    const bool is_known = character < 0x80U || (is_utf8 && ::wcwidth(shown) >= 0);
    out += is_known && !hidden_character(text) && !(size == 1 && character >= 0x80U) ? shown : L'?';
    text.remove_prefix(size);
  }
  return out;
}

}  // namespace

void let_take_effect(int signal) {
  if (signal == 0) return;
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

TopScreen::TopScreen() {
  std::setlocale(LC_CTYPE, "");
  is_utf8_ = std::strcmp(::nl_langinfo(CODESET), "UTF-8") == 0;
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals.at(i), nullptr, &actions_before.at(i));
  if (::pipe2(signal_pipe.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    problem_ = std::string("cannot make a pipe for signals: ") + std::strerror(errno);
    return;
  }
  const char* const terminal = std::getenv("TERM");  // NOLINT(concurrency-mt-unsafe): nothing sets variables
  if (terminal == nullptr || std::strcmp(terminal, "dumb") == 0) {
    problem_ = "this terminal (TERM) cannot show a full screen; --count N prints lines";
    return;
  }
  screen_ = ::newterm(nullptr, stdout, stdin);
  if (screen_ == nullptr) {
    problem_ = "this terminal (TERM) cannot show a full screen; --count N prints lines";
    return;
  }
  take_signals();
  ::cbreak();
  ::noecho();
  ::nonl();
  ::keypad(stdscr, TRUE);
  ::nodelay(stdscr, TRUE);
  ::set_escdelay(50);
  ::curs_set(0);
  if (::has_colors() && ::start_color() == OK) {
    const bool is_default = ::use_default_colors() == OK;
    const short behind = is_default ? -1 : COLOR_BLACK;
    ::init_pair(kRed, COLOR_RED, behind);
    ::init_pair(kYellow, COLOR_YELLOW, behind);
    has_colors_ = true;
  }
}

TopScreen::~TopScreen() {
  if (screen_ != nullptr) {
    ::endwin();
    ::delscreen(static_cast<SCREEN*>(screen_));
  }
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals.at(i), &actions_before.at(i), nullptr);
  for (int& end : signal_pipe) {
    if (end >= 0) ::close(end);
    end = -1;
  }
}

std::size_t TopScreen::width() const { return static_cast<std::size_t>(std::max(1, getmaxx(stdscr))); }
std::size_t TopScreen::height() const { return static_cast<std::size_t>(std::max(1, getmaxy(stdscr))); }

void TopScreen::draw(const std::vector<TopLine>& lines) {
  ::erase();
  const auto height = static_cast<int>(this->height());
  for (int y = 0; y < std::min(height, static_cast<int>(lines.size())); ++y) {
    const TopLine& line = lines[static_cast<std::size_t>(y)];
    ::attrset(static_cast<int>(attributes_of(line.look, has_colors_) | (line.is_selected ? A_REVERSE : A_NORMAL)));
    const std::wstring text = wide_text(line.text, is_utf8_);
    ::mvaddnwstr(y, 0, text.c_str(), static_cast<int>(text.size()));
  }
  ::attrset(A_NORMAL);
  ::refresh();
}

std::optional<KeyPress> TopScreen::read_key() {
  wint_t code = 0;
  const int kind = ::get_wch(&code);
  if (kind == ERR) return std::nullopt;
  if (kind == KEY_CODE_YES) {
    switch (code) {
      case KEY_UP: return KeyPress{.key = Key::kUp};
      case KEY_LEFT: return KeyPress{.key = Key::kLeft};
      case KEY_RIGHT: return KeyPress{.key = Key::kRight};
      case KEY_DOWN: return KeyPress{.key = Key::kDown};
      case KEY_PPAGE: return KeyPress{.key = Key::kPageUp};
      case KEY_NPAGE: return KeyPress{.key = Key::kPageDown};
      case KEY_HOME: return KeyPress{.key = Key::kHome};
      case KEY_END: return KeyPress{.key = Key::kEnd};
      case KEY_ENTER: return KeyPress{.key = Key::kEnter};
      case KEY_BACKSPACE:
      case KEY_DC: return KeyPress{.key = Key::kBackspace};
      default: return KeyPress{.key = Key::kCharacter};  // a key without meaning
    }
  }
  if (code == L'\r' || code == L'\n') return KeyPress{.key = Key::kEnter};
  if (code == 27) return KeyPress{.key = Key::kEscape};
  if (code == 127 || code == 8) return KeyPress{.key = Key::kBackspace};
  KeyPress press;
  const auto character = static_cast<std::uint32_t>(code);
  if (character < 0x80U) {
    press.character += static_cast<char>(character);
  } else if (character < 0x800U) {
    press.character = {static_cast<char>(0xC0U | character >> 6U), static_cast<char>(0x80U | (character & 0x3FU))};
  } else if (character < 0x10000U) {
    press.character = {static_cast<char>(0xE0U | character >> 12U), static_cast<char>(0x80U | (character >> 6U & 0x3FU)),
                       static_cast<char>(0x80U | (character & 0x3FU))};
  }
  return press;
}

ScreenEvent TopScreen::wait(int milliseconds, int wake_fd) {
  if (auto key = read_key()) return {.kind = ScreenEvent::Kind::kKey, .key = std::move(*key)};
  std::array<pollfd, 3> entries{{{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0},
                                 {.fd = signal_pipe[0], .events = POLLIN, .revents = 0},
                                 {.fd = wake_fd, .events = POLLIN, .revents = 0}}};
  ::poll(entries.data(), entries.size(), milliseconds);  // a signal also ends the wait, and is then in the pipe
  unsigned char signal = 0;
  if (::read(signal_pipe[0], &signal, 1) == 1) {
    if (signal != SIGWINCH) return {.kind = ScreenEvent::Kind::kSignal, .key = {}, .signal = signal};
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0) {
      ::resizeterm(size.ws_row, size.ws_col);
    }
    ::clear();
    return {.kind = ScreenEvent::Kind::kResized};
  }
  if (auto key = read_key()) return {.kind = ScreenEvent::Kind::kKey, .key = std::move(*key)};
  const bool is_closed = (entries[0].revents & (POLLIN | POLLHUP | POLLERR | POLLNVAL)) != 0;
  if (is_closed) return {.kind = ScreenEvent::Kind::kClosed};
  return {.kind = entries[2].revents != 0 ? ScreenEvent::Kind::kWoken : ScreenEvent::Kind::kTime};
}

}  // namespace memstat::ctl
