// SPDX-License-Identifier: BSD-2-Clause
// provoke_freebsd KIND NUMBER: takes NUMBER of something that FreeBSD's kernel limits, or as many as there are, prints how
// many it got and what the last request said, and from then on takes each that is freed, until it is killed. Used by
// shortages_freebsd.py.
#include <sys/param.h>

#include <sys/event.h>
#include <sys/mman.h>
#include <sys/procctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

static int one_or_errno(int result) { return result < 0 ? errno : 0; }

static int take_file(void) { return one_or_errno(open("/dev/null", O_RDONLY)); }

static int take_pipe(void) {
  int ends[2];
  return one_or_errno(pipe(ends));
}

static int take_process(void) {
  const pid_t child = fork();
  if (child != 0) return one_or_errno(child);
  int signal = SIGKILL;
  procctl(P_PID, 0, PROC_PDEATHSIG_CTL, &signal);
  for (;;) pause();
}

static int take_memory(void) {
  char* const bytes = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
  if (bytes == MAP_FAILED) return errno;
  arc4random_buf(bytes, MIB);
  return 0;
}

static int take_wired(void) {
  static void* bytes = MAP_FAILED;
  if (bytes == MAP_FAILED) bytes = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
  if (bytes == MAP_FAILED || mlock(bytes, MIB) != 0) return errno;
  bytes = MAP_FAILED;
  return 0;
}

// A file that stays open. (chroot(8), which sets the user, changes the working directory.)
static int take_vnode(void) {
  static int number;
  char name[64];
  snprintf(name, sizeof name, "/tmp/vnodes/%d_%d", getpid(), number);
  const int file = open(name, O_CREAT | O_RDWR, 0600);
  if (file < 0) return errno;
  ++number;
  return 0;
}

// A kqueue's array reaches up to the highest descriptor that it watches: 160 kB of kernel memory for descriptor 20000.
static int take_kmem(void) {
  const int high = getdtablesize() - 1;
  if (fcntl(high, F_GETFD) < 0 && dup2(open("/dev/null", O_RDONLY), high) < 0) return errno;
  const int queue = kqueue();
  if (queue < 0) return errno;
  struct kevent change;
  EV_SET(&change, high, EVFILT_READ, EV_ADD, 0, 0, NULL);
  return one_or_errno(kevent(queue, &change, 1, NULL, 0, NULL));
}

// Both ends of a TCP connection of this machine. Neither is ever read.
static int connect_pair(int pair[2]) {
  struct sockaddr_in address = {.sin_len = sizeof address, .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  const int room = 512 * 1024;
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  pair[0] = socket(AF_INET, SOCK_STREAM, 0);
  if (listener < 0 || pair[0] < 0) return errno;
  for (int i = 0; i < 2; ++i) {
    setsockopt(i == 0 ? listener : pair[0], SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    setsockopt(i == 0 ? listener : pair[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
  }
  if (bind(listener, (struct sockaddr*)&address, length) != 0 || listen(listener, 1) != 0) return errno;
  if (getsockname(listener, (struct sockaddr*)&address, &length) != 0) return errno;
  if (connect(pair[0], (struct sockaddr*)&address, length) != 0) return errno;
  pair[1] = accept(listener, NULL, NULL);
  close(listener);
  return one_or_errno(pair[1]);
}

// Each write of this size takes a cluster. The kernel lets a writer wait for one even if its socket is non-blocking.
static int take_cluster(void) {
  static int pair[2] = {-1, -1};
  static const char bytes[MCLBYTES];
  if (pair[0] < 0) {
    const int failure = connect_pair(pair);
    if (failure != 0) return failure;
  }
  if (send(pair[0], bytes, sizeof bytes, MSG_DONTWAIT) >= 0) return 0;
  if (errno != EAGAIN) return errno;
  pair[0] = -1;
  return take_cluster();
}

// A datagram that fits into an mbuf.
static int take_mbuf(void) {
  static int pair[2] = {-1, -1};
  static const char bytes[64];
  if (pair[0] < 0 && socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) != 0) return errno;
  if (send(pair[0], bytes, sizeof bytes, MSG_DONTWAIT) >= 0) return 0;
  if (errno != EAGAIN && errno != ENOBUFS) return errno;
  pair[0] = -1;
  return socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) != 0 ? errno : 0;
}

// A connection that a program does not accept.
static int take_connection(void) {
  static struct sockaddr_in address = {.sin_len = sizeof address, .sin_family = AF_INET};
  static int listener = -1;
  socklen_t length = sizeof address;
  if (listener < 0) {
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr*)&address, length) != 0 || listen(listener, 16) != 0) return errno;
    if (getsockname(listener, (struct sockaddr*)&address, &length) != 0) return errno;
  }
  const int client = socket(AF_INET, SOCK_STREAM, 0);
  if (client < 0) return errno;
  fcntl(client, F_SETFL, O_NONBLOCK);
  return connect(client, (struct sockaddr*)&address, length) != 0 && errno != EINPROGRESS ? errno : 0;
}

static const struct Kind {
  const char* name;
  int (*take)(void);
  int takers;  // processes that ask, because the kernel may let some wait
} kKinds[] = {{"file", take_file, 1},       {"pipe", take_pipe, 1},
              {"process", take_process, 1}, {"memory", take_memory, 1},
              {"wired", take_wired, 1},     {"vnode", take_vnode, 4},
              {"kmem", take_kmem, 1},       {"cluster", take_cluster, 20},
              {"mbuf", take_mbuf, 20},      {"connection", take_connection, 1}};

struct Shared {
  _Atomic long taken;
  _Atomic int failure;
};

static void take_for_ever(const struct Kind* kind, long wanted, struct Shared* shared) {
  for (;;) {
    const int failure = shared->taken < wanted ? kind->take() : -1;
    if (failure == 0) {
      ++shared->taken;
      continue;
    }
    if (failure > 0) shared->failure = failure;
    usleep(20000);
  }
}

int main(int count, char** words) {
  const struct Kind* kind = NULL;
  for (size_t i = 0; i < nitems(kKinds) && count == 3; ++i) {
    if (strcmp(kKinds[i].name, words[1]) == 0) kind = &kKinds[i];
  }
  struct Shared* const shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANON, -1, 0);
  if (kind == NULL || shared == MAP_FAILED) return 2;
  const long wanted = strtol(words[2], NULL, 10);
  for (int i = 0; i < kind->takers; ++i) {
    const pid_t child = fork();
    if (child < 0) return 2;
    if (child != 0) continue;
    int signal = SIGKILL;
    procctl(P_PID, 0, PROC_PDEATHSIG_CTL, &signal);
    take_for_ever(kind, wanted, shared);
  }
  long before = 0;
  for (int still = 0; still < 3 && shared->taken < wanted; still = shared->taken == before && before > 0 ? still + 1 : 0) {
    before = shared->taken;
    sleep(1);
  }
  printf("%ld %s, %s\n", (long)shared->taken, kind->name,
         shared->taken >= wanted ? "as wanted"
         : shared->failure != 0  ? strerror(shared->failure)
                                 : "and the next request waits");
  fflush(stdout);
  for (;;) pause();
}
