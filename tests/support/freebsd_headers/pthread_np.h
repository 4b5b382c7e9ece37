// SPDX-License-Identifier: BSD-2-Clause
// What FreeBSD 13 to 15 declare in <pthread_np.h>, as far as it is used.
#pragma once

#include <pthread.h>

extern "C" {
int pthread_getthreadid_np(void);
void pthread_set_name_np(pthread_t, const char*);
}
