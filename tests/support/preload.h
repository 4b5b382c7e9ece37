/* SPDX-License-Identifier: BSD-2-Clause
 * Shared by the libraries that tests load into memstatd with LD_PRELOAD. Defines _GNU_SOURCE, so it has all that they
 * include. */
#pragma once

#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The function that the library replaces. */
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* The number at the beginning of the file that this environment variable names; NULL without the file. */
static inline atomic_uint* shared_number(const char* variable, int protection) {
  const char* path = getenv(variable);
  int fd = path == NULL ? -1 : open(path, ((protection & PROT_WRITE) != 0 ? O_RDWR : O_RDONLY) | O_CLOEXEC);
  if (fd < 0) return NULL;
  void* map = mmap(NULL, sizeof(atomic_uint), protection, MAP_SHARED, fd, 0);
  close(fd);
  return map == MAP_FAILED ? NULL : map;
}

/* Returns after 20 ms, or at once if the number has changed. By a system call that the sandbox allows to every program with
 * threads. */
static inline void wait_a_moment(atomic_uint* number, unsigned value) {
  const struct timespec moment = {0, 20 * 1000 * 1000};
  syscall(SYS_futex, number, FUTEX_WAIT, value, &moment, NULL, 0);
}

/* The functions that open a file by name. `is_refused`: with errno set; `opened` gets their results. */
#define MEMSTAT_OPENER(function, parameters, arguments)                                            \
  int function parameters {                                                                        \
    va_list more;                                                                                  \
    va_start(more, flags);                                                                         \
    const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? (mode_t)va_arg(more, unsigned) : 0; \
    va_end(more);                                                                                  \
    return is_refused() ? -1 : opened(NEXT(function) arguments);                                   \
  }
#define MEMSTAT_OPENERS                                                                                     \
  MEMSTAT_OPENER(open, (const char* path, int flags, ...), (path, flags, mode))                             \
  MEMSTAT_OPENER(open64, (const char* path, int flags, ...), (path, flags, mode))                           \
  MEMSTAT_OPENER(openat, (int directory, const char* path, int flags, ...), (directory, path, flags, mode)) \
  MEMSTAT_OPENER(openat64, (int directory, const char* path, int flags, ...), (directory, path, flags, mode))
