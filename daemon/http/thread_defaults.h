// SPDX-License-Identifier: BSD-2-Clause
// How threads are born that a library creates for us: with small stacks and with signals blocked.
#pragma once

#include <csignal>
#include <cstddef>

#if defined(__GLIBC__)
#include <pthread.h>
#endif

namespace memstat {

/// While one lives, threads created by the calling thread start with all asynchronous signals blocked (they belong to the
/// main thread), and with glibc threads created anywhere without a size of their own get stacks of 256 KiB: 16 threads of 8
/// MiB would not fit under a limit for locked memory. Sanitizers keep the default size. Restores both at its end. Thread
/// safety: one at a time, while no other thread creates threads.
class ThreadDefaultsScope {
 public:
  static constexpr std::size_t kStackBytes = 256 * 1024;

  ThreadDefaultsScope();
  ~ThreadDefaultsScope();
  ThreadDefaultsScope(const ThreadDefaultsScope&) = delete;
  ThreadDefaultsScope& operator=(const ThreadDefaultsScope&) = delete;

 private:
  sigset_t old_mask_{};
#if defined(__GLIBC__)
  pthread_attr_t old_attributes_{};
  bool attributes_changed_ = false;
#endif
};

}  // namespace memstat
