/* SPDX-License-Identifier: BSD-2-Clause
 * Loaded into memstatd with LD_PRELOAD: while the file that MEMSTAT_TEST_HANG names begins with 1, what brings a recording
 * to the disk (fsync, appended polls, pieces of archives, renames) does not return, as on a disk that does not answer; with
 * a larger number it takes N milliseconds, as on a slow one.
 */
#include "tests/support/preload.h"

static atomic_uint* hang;

__attribute__((constructor)) static void prepare(void) { hang = shared_number("MEMSTAT_TEST_HANG", PROT_READ); }

static void wait_for_disk(void) {
  unsigned waited = 0;
  for (unsigned now = hang == NULL ? 0 : *hang; now == 1 || waited < now; now = *hang, waited += 20)
    wait_a_moment(hang, now);
}

int fsync(int fd) {
  wait_for_disk();
  return NEXT(fsync)(fd);
}
ssize_t pwrite(int fd, const void* bytes, size_t size, off_t at) {
  wait_for_disk();
  return NEXT(pwrite)(fd, bytes, size, at);
}
ssize_t write(int fd, const void* bytes, size_t size) {
  if (size >= 100000) wait_for_disk(); /* no line of a log is as long */
  return NEXT(write)(fd, bytes, size);
}
int renameat(int from_directory, const char* from, int to_directory, const char* to) {
  wait_for_disk();
  return NEXT(renameat)(from_directory, from, to_directory, to);
}
