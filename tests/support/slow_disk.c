/* SPDX-License-Identifier: BSD-2-Clause
 * Loaded into memstatd with LD_PRELOAD: while the file that MEMSTAT_TEST_HANG names begins with 1, what brings a recording
 * to the disk (fsync, appended polls, pieces of archives, renames) does not return, as on a disk that does not answer; with
 * a larger number it takes N milliseconds, as on a slow one.
 */
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

__attribute__((constructor)) static void prepare(void) {
  const char* path = getenv("MEMSTAT_TEST_HANG");
  if (path == NULL) return;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  void* map = mmap(NULL, sizeof *hang, PROT_READ, MAP_SHARED, fd, 0);
  if (map != MAP_FAILED) hang = map;
  close(fd);
}

static void wait_for_disk(void) {
  if (hang == NULL) return;
  /* A system call that the sandbox allows to every program with threads. */
  const struct timespec moment = {0, 20 * 1000 * 1000};
  unsigned waited = 0;
  for (unsigned now = *hang; now == 1 || waited < now; now = *hang, waited += 20)
    syscall(SYS_futex, hang, FUTEX_WAIT, now, &moment, NULL, 0);
}

int fsync(int fd) {
  wait_for_disk();
  int (*next)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
  return next(fd);
}

ssize_t pwrite(int fd, const void* bytes, size_t size, off_t at) {
  wait_for_disk();
  ssize_t (*next)(int, const void*, size_t, off_t) = (ssize_t(*)(int, const void*, size_t, off_t))dlsym(RTLD_NEXT, "pwrite");
  return next(fd, bytes, size, at);
}

ssize_t write(int fd, const void* bytes, size_t size) {
  if (size >= 100000) wait_for_disk(); /* no line of a log is as long */
  ssize_t (*next)(int, const void*, size_t) = (ssize_t(*)(int, const void*, size_t))dlsym(RTLD_NEXT, "write");
  return next(fd, bytes, size);
}

int renameat(int from_directory, const char* from, int to_directory, const char* to) {
  wait_for_disk();
  int (*next)(int, const char*, int, const char*) =
      (int (*)(int, const char*, int, const char*))dlsym(RTLD_NEXT, "renameat");
  return next(from_directory, from, to_directory, to);
}
