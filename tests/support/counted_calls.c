/* SPDX-License-Identifier: BSD-2-Clause
 * Loaded into memstatd with LD_PRELOAD: the file that MEMSTAT_TEST_COUNT names begins with the number of calls that ask what
 * a descriptor is. A server that looks for a connection among its descriptors makes one for each. */
#include "tests/support/preload.h"

static atomic_uint* count;

__attribute__((constructor)) static void prepare(void) {
  count = shared_number("MEMSTAT_TEST_COUNT", PROT_READ | PROT_WRITE);
}

static void note(void) {
  if (count != NULL) atomic_fetch_add(count, 1);
}

int getpeername(int descriptor, struct sockaddr* address, socklen_t* length) {
  note();
  return NEXT(getpeername)(descriptor, address, length);
}
int getsockname(int descriptor, struct sockaddr* address, socklen_t* length) {
  note();
  return NEXT(getsockname)(descriptor, address, length);
}
int getsockopt(int descriptor, int level, int name, void* value, socklen_t* length) {
  note();
  return NEXT(getsockopt)(descriptor, level, name, value, length);
}
int fstat(int descriptor, struct stat* status) {
  note();
  return NEXT(fstat)(descriptor, status);
}
