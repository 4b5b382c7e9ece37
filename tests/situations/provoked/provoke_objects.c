// SPDX-License-Identifier: BSD-2-Clause
// Descriptors, watches, groups and mounts.
#include "tests/situations/provoked/provoke.h"

// Of each kind: makes one thing; 0 or an errno.

int open_null(long i) {
  (void)i;
  return errno_of(open("/dev/null", O_RDONLY));
}
int make_eventfd(long i) {
  (void)i;
  return errno_of(eventfd(0, 0));
}
int make_epoll(long i) {
  (void)i;
  return errno_of(epoll_create1(0));
}
int make_timerfd(long i) {
  (void)i;
  return errno_of(timerfd_create(CLOCK_MONOTONIC, 0));
}
int make_memfd(long i) {
  (void)i;
  return errno_of(memfd_create("m", 0));
}
int make_pipe(long i) {
  (void)i;
  int ends[2];
  return errno_of(pipe(ends));
}
int make_inotify(long i) {
  (void)i;
  return errno_of(inotify_init1(0));
}
int open_pty(long i) {
  (void)i;
  return errno_of(open("/dev/ptmx", O_RDWR | O_NOCTTY));
}
int make_unix_socket(long i) {
  (void)i;
  return errno_of(socket(AF_UNIX, SOCK_STREAM, 0));
}

int fill_pipe(long i) {
  (void)i;
  int ends[2];
  static char data[kPage];
  if (pipe2(ends, O_NONBLOCK) < 0) return errno;
  fcntl(ends[1], F_SETPIPE_SZ, kMiB);
  while (write(ends[1], data, sizeof data) > 0) continue;
  return 0;
}

int epoll_watch(long i) {
  static int instance = -1, target = -1;
  if (i % 400 == 0) instance = epoll_create1(0);
  target = eventfd(0, 0);
  struct epoll_event event = {.events = EPOLLIN};
  if (target < 0 || instance < 0) return errno;
  return errno_of(epoll_ctl(instance, EPOLL_CTL_ADD, target, &event));
}

int watch_directory(long i) {
  static int instance = -1;
  char name[64];
  if (instance < 0) instance = inotify_init1(0);
  snprintf(name, sizeof name, "/tmp/watched/%ld", i);
  mkdir("/tmp/watched", 0777);
  mkdir(name, 0777);
  return errno_of(inotify_add_watch(instance, name, IN_CREATE));
}

int queue_notifications(long i) {
  static int instance = -1;
  char name[64];
  if (instance < 0) {
    instance = inotify_init1(0);
    mkdir("/tmp/queued", 0777);
    inotify_add_watch(instance, "/tmp/queued", IN_CREATE | IN_DELETE);
  }
  snprintf(name, sizeof name, "/tmp/queued/%ld-a-file-with-a-long-name-that-fills-the-queue", i);
  close(creat(name, 0600));
  return errno_of(unlink(name));
}

int mount_tmpfs(long i) {
  char name[64];
  snprintf(name, sizeof name, "/tmp/mounts/%ld", i);
  mkdir("/tmp/mounts", 0777);
  mkdir(name, 0777);
  return errno_of(mount("tmpfs", name, "tmpfs", 0, "size=4k"));
}
static const char* group_of(long i) {  // below $PROVOKE_GROUP
  static char name[128];
  const char* const parent = getenv("PROVOKE_GROUP") ? getenv("PROVOKE_GROUP") : "made";
  snprintf(name, sizeof name, "/sys/fs/cgroup/%s", parent);
  mkdir(name, 0755);
  snprintf(name, sizeof name, "/sys/fs/cgroup/%s/%ld", parent, i);
  return name;
}
int make_group(long i) { return errno_of(mkdir(group_of(i), 0755)); }
// A group that is removed while a file that it wrote stays in memory: its structures stay, too.
int dying_group(long i) {
  const char *const name = group_of(i), *const directory = getenv("PROVOKE_FILE");
  char procs[160], file[128];
  mkdir(name, 0755);
  snprintf(procs, sizeof procs, "%s/cgroup.procs", name);
  snprintf(file, sizeof file, "%s/of-group-%ld", directory ? directory : "/tmp", i);
  const pid_t child = fork();
  if (child == 0) {
    const int join = open(procs, O_WRONLY);
    if (join < 0 || write(join, "0", 1) != 1) _exit(1);
    const int made = creat(file, 0600);
    _exit(write(made, procs, sizeof procs) > 0 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  for (int tries = 0; tries < 100 && rmdir(name) < 0; ++tries) usleep(1000);
  return status ? EIO : 0;
}
