// SPDX-License-Identifier: BSD-2-Clause
// libcpc.h: other processes, as in <libpctx.h>.
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <new>

#include "core/base/clock.h"
#include "core/counters/libcpc_handle.h"

namespace {

__attribute__((format(printf, 3, 4))) void report(pctx_errfn_t* handler, const char* function, const char* format, ...) {
  const int kept = errno;
  va_list arguments;
  va_start(arguments, format);
  if (handler != nullptr) {
    handler(function, format, arguments);
  } else {
    std::fprintf(stderr, "libpctx: %s: ", function);
    std::vfprintf(stderr, format, arguments);
    std::fputc('\n', stderr);
  }
  va_end(arguments);
  errno = kept;
}

void close_end(int& fd) {
  if (fd >= 0) ::close(fd);
  fd = -1;
}

/// In the new process: waits until it may run. Uses only async-signal-safe functions.
[[noreturn]] void run_program(const char* filename, char* const* argv, int fd) {
  char byte = 0;
  ssize_t size = 0;
  do {
    size = ::read(fd, &byte, 1);
  } while (size < 0 && errno == EINTR);
  if (size != 1) ::_exit(0);  // the parent is gone, or has abandoned this process
  ::execvp(filename, argv);
  const int error = errno;
  (void)!::write(fd, &error, sizeof error);
  constexpr int kNotFound = 127;
  ::_exit(kNotFound);
}

bool has_ended(pid_t pid) {
  siginfo_t info{};
  // Do not reap the child, so that its status remains for the caller.
  if (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0) return info.si_pid == pid;
  return ::kill(pid, 0) != 0 && errno == ESRCH;
}

/// Lets it exec. Returns 0, or the errno of a failed exec.
int start(pctx_t* pctx) {
  const char byte = 0;
  int error = 0;
  ssize_t size = 0;
  if (::send(pctx->start_fd, &byte, 1, MSG_NOSIGNAL) == 1) {
    do {
      size = ::read(pctx->start_fd, &error, sizeof error);  // returns at the exec, which closes the other end
    } while (size < 0 && errno == EINTR);
  }
  close_end(pctx->start_fd);
  return size == static_cast<ssize_t>(sizeof error) ? error : 0;
}

}  // namespace

pctx_t* pctx_create(const char* filename, char* const* argv, void* arg, int, pctx_errfn_t* errfn) {
  int ends[2] = {-1, -1};  // this process's end, and the new process's
  pctx_t* const pctx = new (std::nothrow) pctx_handle{.pid = 0, .arg = arg, .handler = errfn};
  if (pctx == nullptr) {
    errno = ENOMEM;
    return nullptr;
  }
  pctx->pid = ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0 ? ::fork() : -1;
  if (pctx->pid == 0) {
    ::close(ends[0]);
    run_program(filename, argv, ends[1]);
  }
  if (pctx->pid < 0) {
    const int error = errno;
    report(errfn, "pctx_create", "%s: cannot create a process: %s", filename, std::strerror(error));
    close_end(ends[0]);
    close_end(ends[1]);
    delete pctx;
    errno = error;
    return nullptr;
  }
  close_end(ends[1]);
  pctx->start_fd = ends[0];
  return pctx;
}

pctx_t* pctx_capture(pid_t pid, void* arg, int, pctx_errfn_t* errfn) {
  if (pid <= 0 || (::kill(pid, 0) != 0 && errno == ESRCH)) {
    errno = ESRCH;
    report(errfn, "pctx_capture", "there is no process %ld", static_cast<long>(pid));
    return nullptr;
  }
  pctx_t* const pctx = new (std::nothrow) pctx_handle{.pid = pid, .arg = arg, .handler = errfn};
  if (pctx == nullptr) errno = ENOMEM;
  return pctx;
}

int pctx_run(pctx_t* pctx, uint_t msec, uint_t nsamples, int (*tick)(pctx_t* pctx, pid_t pid, id_t lwpid, void* arg)) {
  if (pctx->start_fd >= 0) {
    if (const int error = start(pctx); error != 0) {
      errno = error;
      report(pctx->handler, "pctx_run", "the program could not be run: %s", std::strerror(error));
      errno = error;
      return -1;
    }
  }
  const memstat::Clock& clock = memstat::system_clock();
  constexpr std::chrono::milliseconds kLook{10};
  memstat::TimePoint next = clock.now() + std::chrono::milliseconds(msec);
  for (uint_t samples = 0; nsamples == 0 || samples < nsamples;) {
    if (has_ended(pctx->pid)) return 0;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - clock.now());
    if (msec != 0 && left.count() <= 0) {
      next += std::chrono::milliseconds(msec);
      ++samples;
      if (tick != nullptr && tick(pctx, pctx->pid, static_cast<id_t>(pctx->pid), pctx->arg) != 0) return 0;
      continue;
    }
    const auto wait = msec == 0 ? kLook : std::min(kLook, left);
    ::poll(nullptr, 0, static_cast<int>(wait.count()));
  }
  return 0;
}

void pctx_release(pctx_t* pctx) {
  if (pctx->start_fd >= 0) {
    close_end(pctx->start_fd);  // it exits on its own; reap it
    while (::waitpid(pctx->pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  delete pctx;
}
