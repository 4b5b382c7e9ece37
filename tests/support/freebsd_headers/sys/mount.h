// SPDX-License-Identifier: BSD-2-Clause
// What FreeBSD 13 to 15 declare in <sys/mount.h>, as far as it is used. Compiled, never linked.
#pragma once

#include <cstdint>

constexpr int MNT_NOWAIT = 2;

struct fsid {
  int32_t val[2];
};

struct statfs {
  uint64_t f_bsize;
  uint64_t f_blocks;
  uint64_t f_bfree;
  uint64_t f_files;
  int64_t f_ffree;
  struct fsid f_fsid;
  char f_fstypename[16];
  char f_mntonname[1024];
};

extern "C" int getfsstat(struct statfs*, long, int);
extern "C" int statfs(const char*, struct statfs*);
