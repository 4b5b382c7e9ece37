/* SPDX-License-Identifier: BSD-2-Clause
 * Loaded into memstatd with LD_PRELOAD: while the file that MEMSTAT_TEST_HANG names begins with a number that is not 0,
 * reads of /proc/slabinfo, or of the file that MEMSTAT_TEST_HANG_ON names, do not return, as those of a kernel that waits
 * for a lock do not. */
#include "tests/support/preload.h"

static atomic_uint* hang;
static struct stat hanging;

__attribute__((constructor)) static void prepare(void) {
  const char* path = getenv("MEMSTAT_TEST_HANG_ON");
  if (stat(path == NULL ? "/proc/slabinfo" : path, &hanging) == 0) hang = shared_number("MEMSTAT_TEST_HANG", PROT_READ);
}

static void hang_on(int fd) {
  struct stat about;
  if (hang == NULL || fstat(fd, &about) != 0 || about.st_dev != hanging.st_dev || about.st_ino != hanging.st_ino) return;
  for (unsigned now = *hang; now != 0; now = *hang) wait_a_moment(hang, now);
}

ssize_t read(int fd, void* buffer, size_t size) {
  hang_on(fd);
  return NEXT(read)(fd, buffer, size);
}
ssize_t pread(int fd, void* buffer, size_t size, off_t offset) {
  hang_on(fd);
  return NEXT(pread)(fd, buffer, size, offset);
}
/* By this name where off_t has 64 bits because the program asked for it. */
ssize_t pread64(int fd, void* buffer, size_t size, off64_t offset) { return pread(fd, buffer, size, (off_t)offset); }
