// SPDX-License-Identifier: BSD-2-Clause
// What FreeBSD 13 to 15 declare in <sys/user.h>, as far as it is used. Compiled, never linked.
#pragma once

#include <sys/time.h>

struct kinfo_proc {
  int ki_structsize;
  unsigned long ki_size;
  long ki_rssize;
  struct timeval ki_start;
};
