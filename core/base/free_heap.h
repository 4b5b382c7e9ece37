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

}  // namespace memstat
