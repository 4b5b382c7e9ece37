/* SPDX-License-Identifier: BSD-2-Clause
 * Loaded into memstatd with LD_PRELOAD: of the calls of MEMSTAT_TEST_FAIL_CALL (a name of the table below), number
 * MEMSTAT_TEST_FAIL_AT (from 1) and the MEMSTAT_TEST_FAIL_COUNT - 1 after it fail, as those of a sick kernel, disk or
 * machine do; "malloc" is any allocation. At its end the process writes how many there were to the descriptor
 * MEMSTAT_TEST_FAIL_REPORT. What the C library calls within itself is not seen: its fopen opens by a call of its own.
 * failing_calls.py has strace(1) for those. Of glibc only.
 */
#include "tests/support/preload.h"

/* In the order of the names. */
enum call { OPEN, READ, PREAD, WRITE, READDIR, STAT, ACCEPT, RECV, SEND, POLL, PIPE, SOCKETPAIR, THREAD, FORK, MALLOC };
enum { CALLS = MALLOC + 1 };
static const struct {
  const char* name;
  int error;
} calls[CALLS] = {{"open", EMFILE}, {"read", EIO},          {"pread", EIO},     {"write", ENOSPC}, {"readdir", EIO},
                  {"stat", ENOMEM}, {"accept", EMFILE},     {"recv", ENOBUFS},  {"send", ENOBUFS}, {"poll", ENOMEM},
                  {"pipe", EMFILE}, {"socketpair", EMFILE}, {"thread", EAGAIN}, {"fork", EAGAIN},  {"malloc", ENOMEM}};

static atomic_ulong made;
static unsigned long first = 0; /* 0: none fails */
static unsigned long count = 1;
static int chosen = CALLS;
static pid_t of_process;

static unsigned long number_of(const char* name, unsigned long otherwise) {
  const char* text = getenv(name);
  return text == NULL ? otherwise : strtoul(text, NULL, 10);
}

__attribute__((constructor)) static void prepare(void) {
  const char* name = getenv("MEMSTAT_TEST_FAIL_CALL");
  for (int i = 0; name != NULL && i < CALLS; ++i) {
    if (strcmp(calls[i].name, name) == 0) chosen = i;
  }
  count = number_of("MEMSTAT_TEST_FAIL_COUNT", 1);
  of_process = getpid();
  first = number_of("MEMSTAT_TEST_FAIL_AT", 0);
}

__attribute__((destructor)) static void report(void) {
  const unsigned long descriptor = number_of("MEMSTAT_TEST_FAIL_REPORT", 0);
  if (descriptor == 0 || getpid() != of_process) return;
  first = 0;
  dprintf((int)descriptor, "%lu\n", atomic_load(&made));
}

static int must_fail(int call) {
  if (call != chosen) return 0;
  const unsigned long number = atomic_fetch_add(&made, 1) + 1;
  if (first == 0 || number < first || number - first >= count) return 0;
  errno = calls[call].error;
  return 1;
}

static int is_refused(void) { return must_fail(OPEN); }
static int opened(int fd) { return fd; }
MEMSTAT_OPENERS

ssize_t read(int fd, void* to, size_t size) { return must_fail(READ) ? -1 : NEXT(read)(fd, to, size); }
ssize_t pread(int fd, void* to, size_t size, off_t at) { return must_fail(PREAD) ? -1 : NEXT(pread)(fd, to, size, at); }
ssize_t pread64(int fd, void* to, size_t size, off64_t at) {
  return must_fail(PREAD) ? -1 : NEXT(pread64)(fd, to, size, at);
}
ssize_t write(int fd, const void* from, size_t size) { return must_fail(WRITE) ? -1 : NEXT(write)(fd, from, size); }
struct dirent* readdir(DIR* directory) {
  return must_fail(READDIR) ? NULL : NEXT(readdir)(directory);
}
struct dirent64* readdir64(DIR* directory) {
  return must_fail(READDIR) ? NULL : NEXT(readdir64)(directory);
}
int fstat(int fd, struct stat* about) { return must_fail(STAT) ? -1 : NEXT(fstat)(fd, about); }
int stat(const char* path, struct stat* about) { return must_fail(STAT) ? -1 : NEXT(stat)(path, about); }
int accept4(int fd, struct sockaddr* from, socklen_t* length, int flags) {
  return must_fail(ACCEPT) ? -1 : NEXT(accept4)(fd, from, length, flags);
}
ssize_t recv(int fd, void* to, size_t size, int flags) { return must_fail(RECV) ? -1 : NEXT(recv)(fd, to, size, flags); }
ssize_t send(int fd, const void* from, size_t size, int flags) {
  return must_fail(SEND) ? -1 : NEXT(send)(fd, from, size, flags);
}
ssize_t sendmsg(int fd, const struct msghdr* message, int flags) {
  return must_fail(SEND) ? -1 : NEXT(sendmsg)(fd, message, flags);
}
int poll(struct pollfd* entries, nfds_t size, int patience) {
  return must_fail(POLL) ? -1 : NEXT(poll)(entries, size, patience);
}
int pipe(int ends[2]) { return must_fail(PIPE) ? -1 : NEXT(pipe)(ends); }
int pipe2(int ends[2], int flags) { return must_fail(PIPE) ? -1 : NEXT(pipe2)(ends, flags); }
int socketpair(int domain, int type, int protocol, int ends[2]) {
  return must_fail(SOCKETPAIR) ? -1 : NEXT(socketpair)(domain, type, protocol, ends);
}
int pthread_create(pthread_t* thread, const pthread_attr_t* how, void* (*body)(void*), void* argument) {
  if (must_fail(THREAD)) return EAGAIN;
  return NEXT(pthread_create)(thread, how, body, argument);
}
pid_t fork(void) { return must_fail(FORK) ? -1 : NEXT(fork)(); }

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);
void* malloc(size_t size) { return must_fail(MALLOC) ? NULL : __libc_malloc(size); }
void* calloc(size_t members, size_t size) { return must_fail(MALLOC) ? NULL : __libc_calloc(members, size); }
void* realloc(void* old, size_t size) { return must_fail(MALLOC) ? NULL : __libc_realloc(old, size); }
void* memalign(size_t alignment, size_t size) { return must_fail(MALLOC) ? NULL : __libc_memalign(alignment, size); }
void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void** result, size_t alignment, size_t size) {
  *result = memalign(alignment, size);
  return *result == NULL ? ENOMEM : 0;
}
