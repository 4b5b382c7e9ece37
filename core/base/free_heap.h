// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdlib>  // defines __GLIBC__ where it is that

#include "core/base/sanitizer.h"

#if defined(__GLIBC__) && !defined(MEMSTAT_SANITIZED)
#include <malloc.h>
#endif

namespace memstat {

/// Gives memory that was freed back to the kernel, after work that took much more than what stays: glibc keeps it, even
/// where it is whole pages. Takes milliseconds. Does nothing with other C libraries, which give it back by themselves, and
/// in builds of a sanitizer.
inline void give_back_free_heap() {
#if defined(__GLIBC__) && !defined(MEMSTAT_SANITIZED)
  malloc_trim(0);
#endif
}

/// All threads share one heap from now on: glibc gives each of a few dozen threads one of its own, and keeps what is free in
/// any of them. For a program whose threads seldom allocate at the same time, before they begin. Does nothing where
/// give_back_free_heap() does nothing, or where the environment says how many there are to be.
inline void share_one_heap() {
#if defined(__GLIBC__) && !defined(MEMSTAT_SANITIZED)
  if (std::getenv("MALLOC_ARENA_MAX") == nullptr) mallopt(M_ARENA_MAX, 1);
#endif
}

}  // namespace memstat
