// SPDX-License-Identifier: BSD-2-Clause
// What FreeBSD 13 to 15 declare in <sys/linker.h>, as far as it is used. Compiled, never linked.
#pragma once

#include <cstddef>

struct kld_file_stat {
  int version;
  char name[1024];
  int refs;
  int id;
  char* address;
  size_t size;
  char pathname[1024];
};

extern "C" int kldnext(int);
extern "C" int kldstat(int, struct kld_file_stat*);
