// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdlib>  // defines __GLIBC__ on glibc

#include "core/base/sanitizer.h"

#if defined(__GLIBC__) && !defined(MEMSTAT_SANITIZED)
#include <malloc.h>
#endif

namespace memstat {

/// Returns freed heap memory to the kernel; call it after work that used much more than it keeps. glibc otherwise keeps even
/// whole free pages. Takes milliseconds. A no-op with other C libraries, which return memory themselves, and in sanitizer
/// builds.
inline void give_back_free_heap() {
#if defined(__GLIBC__) && !defined(MEMSTAT_SANITIZED)
  malloc_trim(0);
#endif
}

/// Makes all threads share one malloc arena. glibc creates an arena per thread, up to a few dozen, and each keeps its own
/// free memory. For programs whose threads rarely allocate at the same time; call it before they start. A no-op if
/// give_back_free_heap() is a no-op, or if MALLOC_ARENA_MAX is set.
inline void share_one_heap() {
#if defined(__GLIBC__) && !defined(MEMSTAT_SANITIZED)
  if (std::getenv("MALLOC_ARENA_MAX") == nullptr) mallopt(M_ARENA_MAX, 1);
  // Large blocks go back at once. Otherwise the first one that is freed, the kernel's types of 6 MB, raises the threshold.
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
#endif
}

}  // namespace memstat
