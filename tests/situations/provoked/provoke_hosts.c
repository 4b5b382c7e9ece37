// SPDX-License-Identifier: BSD-2-Clause
// What the seventh set of situations needs beside: open files that only the kernel has, tables and values that are too large
// for a slab cache, and connections that end before anybody has read them.
#include <linux/io_uring.h>
#include <sys/xattr.h>

#include "tests/situations/provoked/provoke.h"

int make_wide_table(long i) {  // a worker with a descriptor of a very high number: its table of descriptors is 8 MiB
  (void)i;
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (dup2(0, (1 << 20) - 1) < 0) _exit(1);
    pause();
    _exit(0);
  }
  return errno_of(child);
}

int open_for_ring(long i) {  // an open file that only an io_uring knows
  enum { kMost = 16384 };
  static int ring = -1, none[kMost];
  if (ring < 0) {
    struct io_uring_params parameters = {.flags = 0};
    ring = (int)syscall(SYS_io_uring_setup, 8L, &parameters);
    for (int k = 0; k < kMost; ++k) none[k] = -1;
    if (ring < 0 || syscall(SYS_io_uring_register, ring, (long)IORING_REGISTER_FILES, none, (long)kMost) < 0) return errno;
  }
  int file = open("/dev/null", O_RDONLY);
  struct io_uring_files_update update = {.offset = (uint32_t)i, .fds = (uint64_t)(uintptr_t)&file};
  const int error =
      file < 0 ? errno : errno_of(syscall(SYS_io_uring_register, ring, (long)IORING_REGISTER_FILES_UPDATE, &update, 1L));
  close(file);
  return error;
}

int open_own_pidfd(long i) {
  (void)i;
  return errno_of(syscall(SYS_pidfd_open, (long)getpid(), 0L));
}

int set_large_attribute(long i) {  // an extended attribute of 60 KB: in tmpfs it is one block of kernel memory
  static char value[60000], name[256];
  snprintf(name, sizeof name, "%s/layer-%ld", getenv("PROVOKE_FILE"), i);
  const int file = creat(name, 0600);
  if (file < 0) return errno;
  const int error = errno_of(fsetxattr(file, "trusted.layer", value, sizeof value, 0));
  close(file);
  return error;
}

int end_unread(long i) {  // the peer has sent 900 KiB and gone, the server neither reads nor closes
  static char data[65536];
  int pair[2];
  const int error = tcp_pair(pair), size = 4 * kMiB;
  (void)i;
  if (error) return error;
  setsockopt(pair[0], SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof size);
  setsockopt(pair[1], SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size);
  for (int k = 0; k < 14; ++k) {
    if (send(pair[0], data, sizeof data, MSG_DONTWAIT) < 0) break;
  }
  return errno_of(close(pair[0]));
}
