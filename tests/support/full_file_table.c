/* SPDX-License-Identifier: BSD-2-Clause
 * Loaded into memstatd with LD_PRELOAD: while the file that MEMSTAT_TEST_FULL names begins with a number other than 0, the
 * system's table of open files appears full: opening a file fails with ENFILE unless one was closed before. While it is 2,
 * only connections get the place of a closed file, as if other programs were faster than a read of the kernel. While it is
 * 3, another program takes the first two of the files that are closed in a row. */
#include "tests/support/preload.h"

#include <sys/eventfd.h>

static atomic_uint* full;
static atomic_int room;
static atomic_int closed; /* in a row */

__attribute__((constructor)) static void prepare(void) { full = shared_number("MEMSTAT_TEST_FULL", PROT_READ); }

static int is_full(int files) {
  if (full == NULL || *full == 0) {
    atomic_store(&room, 0);
    return 0;
  }
  atomic_store(&closed, 0);
  int left = atomic_load(&room);
  do {
    if (left < files) {
      errno = ENFILE;
      return 1;
    }
  } while (!atomic_compare_exchange_weak(&room, &left, left - files));
  return 0;
}

static int is_refused(void) {
  if (full == NULL || *full != 2) return is_full(1);
  errno = ENFILE;
  return 1;
}

static int took(int result, int files) { /* a call that failed for another reason took no room */
  if (result < 0 && full != NULL && *full != 0) atomic_fetch_add(&room, files);
  return result;
}
static int opened(int fd) { return took(fd, 1); }

MEMSTAT_OPENERS
int pipe(int ends[2]) { return is_full(2) ? -1 : took(NEXT(pipe)(ends), 2); }
int eventfd(unsigned value, int flags) { return is_full(1) ? -1 : opened(NEXT(eventfd)(value, flags)); }
int accept4(int listener, struct sockaddr* address, socklen_t* length, int flags) {
  return is_full(1) ? -1 : opened(NEXT(accept4)(listener, address, length, flags));
}
int close(int fd) {
  const int status = NEXT(close)(fd);
  if (status == 0 && full != NULL && *full != 0 && (*full != 3 || atomic_fetch_add(&closed, 1) >= 2))
    atomic_fetch_add(&room, 1);
  return status;
}
