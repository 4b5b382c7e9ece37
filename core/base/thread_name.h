// SPDX-License-Identifier: BSD-2-Clause
// Thread names for `top -H`, `ps -T` and debuggers.
#pragma once

#include <pthread.h>

#if defined(__FreeBSD__)
#include <pthread_np.h>
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

}  // namespace memstat
