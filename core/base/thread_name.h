// SPDX-License-Identifier: BSD-2-Clause
// Names of threads and processes for `top`, `ps` and debuggers, and threads without signals.
#pragma once

#include <pthread.h>

#include <csignal>

#if defined(__FreeBSD__)
#include <pthread_np.h>
#include <unistd.h>
#endif

namespace memstat {

/// Names the calling thread. The kernel truncates the name to 15 characters.
inline void name_thread(const char* name) {
#if defined(__FreeBSD__)
  ::pthread_set_name_np(::pthread_self(), name);
#else
  ::pthread_setname_np(::pthread_self(), name);
#endif
}

/// Names the process, in its first thread.
inline void name_process(const char* name) {
#if defined(__FreeBSD__)
  ::setproctitle("-%s", name);  // "-": without the program's name before it
#else
  name_thread(name);
#endif
}

/// Blocks all signals except faults in this thread, and in threads that it creates, while it exists.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) ::sigdelset(&all, fault);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

}  // namespace memstat
