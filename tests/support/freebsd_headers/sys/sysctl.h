// SPDX-License-Identifier: BSD-2-Clause
// What FreeBSD 13 to 15 declare in <sys/sysctl.h>, as far as it is used. Compiled, never linked.
#pragma once

#include <stddef.h>

#define CTL_MAXNAME 24
#define CTL_KERN 1
#define KERN_PROC 14
#define KERN_PROC_PID 1
#if FREEBSD_RELEASE >= 14
#define KERN_PROC_NFDS 43
#endif

extern "C" {
int sysctl(const int*, unsigned int, void*, size_t*, const void*, size_t);
int sysctlbyname(const char*, void*, size_t*, const void*, size_t);
int sysctlnametomib(const char*, int*, size_t*);
}
