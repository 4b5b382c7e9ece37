/* SPDX-License-Identifier: BSD-2-Clause
 * Loaded into memstatd with LD_PRELOAD: the file that MEMSTAT_TEST_COUNT names begins with the number of calls that ask what
 * a descriptor is. A server that looks for a connection among its descriptors makes one for each. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_uint* count;

__attribute__((constructor)) static void prepare(void) {
  const char* path = getenv("MEMSTAT_TEST_COUNT");
  int fd = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  void* map = mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (map != MAP_FAILED) count = map;
  close(fd);
}

static void note(void) {
  if (count != NULL) atomic_fetch_add(count, 1);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

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
