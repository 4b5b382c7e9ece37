// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/incidents/kill_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "core/base/thread_name.h"

namespace memstat {

// mm/oom_kill.c, __oom_kill_process(): "%s: Killed process %d (%s) ...", since Linux 2.6.
bool says_killed(std::string_view line) { return line.find(": Killed process ") != std::string_view::npos; }

KillWatch::KillWatch() : log_(::open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
  if (!log_) return;
  std::array<int, 2> ends{};
  if (::lseek(log_.get(), 0, SEEK_END) < 0 || ::pipe(ends.data()) != 0) {
    log_ = UniqueFd();
    return;
  }
  // The thread ends when the writing end is closed.
  reading_end_ = UniqueFd(ends[0]);
  writing_end_ = UniqueFd(ends[1]);
  for (const int end : ends) ::fcntl(end, F_SETFD, FD_CLOEXEC);
}

KillWatch::~KillWatch() {
  writing_end_ = UniqueFd();
  if (thread_.joinable()) thread_.join();
}

void KillWatch::start(std::function<void()> on_kill) {
  if (!log_) return;
  on_kill_ = std::move(on_kill);
  thread_ = std::thread([this] { run(); });
}

void KillWatch::run() {
  name_thread("memstatd-kills");
  std::array<char, 8192> line{};  // a record is at most that long (kernel/printk: CONSOLE_EXT_LOG_MAX)
  std::array<pollfd, 2> waiting{
      {{.fd = log_.get(), .events = POLLIN, .revents = 0}, {.fd = reading_end_.get(), .events = POLLIN, .revents = 0}}};
  while (true) {
    if (::poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) return;
    if (waiting[1].revents != 0) return;
    bool is_killed = false;
    ssize_t size = 0;
    // EPIPE: lines were overwritten before they were read.
    while ((size = ::read(log_.get(), line.data(), line.size())) > 0 || (size < 0 && (errno == EINTR || errno == EPIPE)))
      is_killed = is_killed || (size > 0 && says_killed({line.data(), static_cast<std::size_t>(size)}));
    if (size == 0 || errno != EAGAIN) return;
    if (!is_killed) continue;
    on_kill_();
    // More lines of the same kill, and of kills that follow it, are read at once after a rest.
    if (::poll(&waiting[1], 1, kRestMs) != 0) return;
  }
}

}  // namespace memstat
