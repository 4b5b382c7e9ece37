/* SPDX-License-Identifier: BSD-2-Clause
 * Loaded into memstatd with LD_PRELOAD: while the file that MEMSTAT_TEST_FULL names begins with a number other than 0, the
 * system's table of open files appears full: opening a file fails with ENFILE unless one was closed before. While it is 2,
 * only connections get the place of a closed file, as if other programs were faster than a read of the kernel. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static volatile unsigned* full;
static atomic_int room;

__attribute__((constructor)) static void prepare(void) {
  const char* path = getenv("MEMSTAT_TEST_FULL");
  int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  void* map = mmap(NULL, sizeof *full, PROT_READ, MAP_SHARED, fd, 0);
  if (map != MAP_FAILED) full = map;
  close(fd);
}

static int is_full(int files) {
  if (full == NULL || *full == 0) {
    atomic_store(&room, 0);
    return 0;
  }
  int left = atomic_load(&room);
  do {
    if (left < files) {
      errno = ENFILE;
      return 1;
    }
  } while (!atomic_compare_exchange_weak(&room, &left, left - files));
  return 0;
}

static int is_file_refused(void) {
  if (full != NULL && *full == 2) {
    errno = ENFILE;
    return 1;
  }
  return is_full(1);
}

static int opened(int fd, int files) { /* a call that failed for another reason took no room */
  if (fd < 0 && full != NULL && *full != 0) atomic_fetch_add(&room, files);
  return fd;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define MODE(last)                     \
  mode_t mode = 0;                     \
  if (flags & (O_CREAT | O_TMPFILE)) { \
    va_list more;                      \
    va_start(more, last);              \
    mode = (mode_t)va_arg(more, int);  \
    va_end(more);                      \
  }

int open(const char* path, int flags, ...) {
  MODE(flags)
  return is_file_refused() ? -1 : opened(NEXT(open)(path, flags, mode), 1);
}
int open64(const char* path, int flags, ...) {
  MODE(flags)
  return is_file_refused() ? -1 : opened(NEXT(open64)(path, flags, mode), 1);
}
int openat(int directory, const char* path, int flags, ...) {
  MODE(flags)
  return is_file_refused() ? -1 : opened(NEXT(openat)(directory, path, flags, mode), 1);
}
int openat64(int directory, const char* path, int flags, ...) {
  MODE(flags)
  return is_file_refused() ? -1 : opened(NEXT(openat64)(directory, path, flags, mode), 1);
}
int pipe(int ends[2]) { return is_full(2) ? -1 : opened(NEXT(pipe)(ends), 2); }
int accept4(int listener, struct sockaddr* address, socklen_t* length, int flags) {
  return is_full(1) ? -1 : opened(NEXT(accept4)(listener, address, length, flags), 1);
}
int close(int fd) {
  const int status = NEXT(close)(fd);
  if (status == 0 && full != NULL && *full != 0) atomic_fetch_add(&room, 1);
  return status;
}
