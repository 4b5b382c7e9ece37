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
  if (log_ && ::lseek(log_.get(), 0, SEEK_END) < 0) log_ = UniqueFd();
  std::array<int, 2> ends{};
  if ((!programs_.open() && !log_) || ::pipe(ends.data()) != 0) return;
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
  if (!reading_end_) return;
  on_kill_ = std::move(on_kill);
  thread_ = std::thread([this] { run(); });
}

bool KillWatch::kernel_has_killed() {
  std::array<char, 8192> line{};  // a record is at most that long (kernel/printk: CONSOLE_EXT_LOG_MAX)
  bool is_killed = false;
  ssize_t size = 0;
  // EPIPE: lines were overwritten before they were read.
  while ((size = ::read(log_.get(), line.data(), line.size())) > 0 || (size < 0 && (errno == EINTR || errno == EPIPE)))
    is_killed = is_killed || (size > 0 && says_killed({line.data(), static_cast<std::size_t>(size)}));
  if (size == 0 || errno != EAGAIN) log_ = UniqueFd();
  return is_killed;
}

void KillWatch::run() {
  name_thread("memstatd-kills");
  bool is_journal_resting = false;
  while (log_ || programs_.descriptor() >= 0) {
    const int journal = is_journal_resting ? -1 : programs_.descriptor();
    std::array<pollfd, 3> waiting{{{.fd = reading_end_.get(), .events = POLLIN, .revents = 0},
                                   {.fd = log_.get(), .events = POLLIN, .revents = 0},
                                   {.fd = journal, .events = POLLIN, .revents = 0}}};
    if (::poll(waiting.data(), waiting.size(), is_journal_resting ? kJournalRestMs : -1) < 0 && errno != EINTR) return;
    if (waiting[0].revents != 0) return;
    is_journal_resting = waiting[2].revents != 0;
    const bool is_by_kernel = waiting[1].revents != 0 && kernel_has_killed();
    const bool is_by_program = is_journal_resting && programs_.has_new();
    if (!is_by_kernel && !is_by_program) continue;
    on_kill_();
    // More lines of the same kill, and of kills that follow it, are read at once after a rest.
    if (::poll(waiting.data(), 1, kRestMs) != 0) return;
  }
}

}  // namespace memstat
