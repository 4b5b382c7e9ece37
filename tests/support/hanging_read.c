/* SPDX-License-Identifier: BSD-2-Clause
 * Loaded into memstatd with LD_PRELOAD: while the file that MEMSTAT_TEST_HANG names begins with a number that is not 0,
 * reads of /proc/slabinfo do not return, as those of a kernel that waits for a lock do not. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned* hang;
static struct stat slabinfo;

__attribute__((constructor)) static void prepare(void) {
  const char* path = getenv("MEMSTAT_TEST_HANG");
  if (path == NULL || stat("/proc/slabinfo", &slabinfo) != 0) return;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  void* map = mmap(NULL, sizeof *hang, PROT_READ, MAP_SHARED, fd, 0);
  if (map != MAP_FAILED) hang = map;
  close(fd);
}

static void hang_on(int fd) {
  struct stat about;
  if (hang == NULL || fstat(fd, &about) != 0 || about.st_dev != slabinfo.st_dev || about.st_ino != slabinfo.st_ino) return;
  /* A system call that the sandbox allows to every program with threads. */
  const struct timespec moment = {0, 20 * 1000 * 1000};
  for (unsigned now = *hang; now != 0; now = *hang) syscall(SYS_futex, hang, FUTEX_WAIT, now, &moment, NULL, 0);
}

ssize_t read(int fd, void* buffer, size_t size) {
  hang_on(fd);
  ssize_t (*next)(int, void*, size_t) = (ssize_t(*)(int, void*, size_t))dlsym(RTLD_NEXT, "read");
  return next(fd, buffer, size);
}

ssize_t pread(int fd, void* buffer, size_t size, off_t offset) {
  hang_on(fd);
  ssize_t (*next)(int, void*, size_t, off_t) = (ssize_t(*)(int, void*, size_t, off_t))dlsym(RTLD_NEXT, "pread");
  return next(fd, buffer, size, offset);
}

/* By this name where off_t has 64 bits because the program asked for it. */
ssize_t pread64(int fd, void* buffer, size_t size, off64_t offset) { return pread(fd, buffer, size, (off_t)offset); }
