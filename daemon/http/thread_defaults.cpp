// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/http/thread_defaults.h"

#include <pthread.h>

#include <initializer_list>

#include "core/base/sanitizer.h"

namespace memstat {

ThreadDefaultsScope::ThreadDefaultsScope() {
  sigset_t blocked;
  sigfillset(&blocked);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigdelset(&blocked, fault);
  pthread_sigmask(SIG_SETMASK, &blocked, &old_mask_);
#if defined(__GLIBC__) && !defined(MEMSTAT_SANITIZED)
  if (pthread_getattr_default_np(&old_attributes_) == 0) {
    pthread_attr_t small;
    pthread_attr_init(&small);
    attributes_changed_ = pthread_attr_setstacksize(&small, kStackBytes) == 0 && pthread_setattr_default_np(&small) == 0;
    pthread_attr_destroy(&small);
    if (!attributes_changed_) pthread_attr_destroy(&old_attributes_);
  }
#endif
}

ThreadDefaultsScope::~ThreadDefaultsScope() {
#if defined(__GLIBC__)
  if (attributes_changed_) {
    pthread_setattr_default_np(&old_attributes_);
    pthread_attr_destroy(&old_attributes_);
  }
#endif
  pthread_sigmask(SIG_SETMASK, &old_mask_, nullptr);
}

}  // namespace memstat
