// SPDX-License-Identifier: BSD-2-Clause
#include "core/base/thread_name.h"

#include <pthread.h>

#if defined(__FreeBSD__)
#include <pthread_np.h>
#endif

namespace memstat {

void name_thread(const char* name) {
#if defined(__FreeBSD__)
  ::pthread_set_name_np(::pthread_self(), name);
#else
  ::pthread_setname_np(::pthread_self(), name);
#endif
}

}  // namespace memstat
