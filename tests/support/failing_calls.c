/* SPDX-License-Identifier: BSD-2-Clause
 * Loaded into memstatd with LD_PRELOAD: of the calls of MEMSTAT_TEST_FAIL_CALL (a name of the table below), number
 * MEMSTAT_TEST_FAIL_AT (from 1) and the MEMSTAT_TEST_FAIL_COUNT - 1 after it fail, as those of a sick kernel, disk or
 * machine do. At its end the process writes how many there were to the descriptor MEMSTAT_TEST_FAIL_REPORT. What the C
 * library calls within itself is not seen: its fopen opens by a call of its own. failing_calls.py has strace(1) for those.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

/* In the order of the names. */
enum call { OPEN, READ, PREAD, WRITE, READDIR, STAT, ACCEPT, RECV, SEND, POLL, PIPE, SOCKETPAIR, THREAD, FORK, CALLS };
static const struct {
  const char* name;
  int error;
} calls[CALLS] = {{"open", EMFILE}, {"read", EIO},          {"pread", EIO},     {"write", ENOSPC}, {"readdir", EIO},
                  {"stat", ENOMEM}, {"accept", EMFILE},     {"recv", ENOBUFS},  {"send", ENOBUFS}, {"poll", ENOMEM},
                  {"pipe", EMFILE}, {"socketpair", EMFILE}, {"thread", EAGAIN}, {"fork", EAGAIN}};

static atomic_ulong made;
static unsigned long first = 0; /* 0: none fails */
static unsigned long count = 1;
static enum call chosen = CALLS;
static pid_t of_process;

static unsigned long number_of(const char* name, unsigned long otherwise) {
  const char* text = getenv(name);
  return text == NULL ? otherwise : strtoul(text, NULL, 10);
}

__attribute__((constructor)) static void prepare(void) {
  const char* name = getenv("MEMSTAT_TEST_FAIL_CALL");
  for (int i = 0; name != NULL && i < CALLS; ++i) {
    if (strcmp(calls[i].name, name) == 0) chosen = (enum call)i;
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

static int must_fail(enum call call) {
  if (call != chosen) return 0;
  const unsigned long number = atomic_fetch_add(&made, 1) + 1;
  if (first == 0 || number < first || number - first >= count) return 0;
  errno = calls[call].error;
  return 1;
}

#define NEXT(result, name, ...) ((result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name))

static mode_t mode_of(int flags, va_list more) { return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0; }

#define OPENER(function)                                                                             \
  int function(const char* path, int flags, ...) {                                                   \
    va_list more;                                                                                    \
    va_start(more, flags);                                                                           \
    const mode_t mode = mode_of(flags, more);                                                        \
    va_end(more);                                                                                    \
    return must_fail(OPEN) ? -1 : NEXT(int, #function, const char*, int, mode_t)(path, flags, mode); \
  }
OPENER(open)
OPENER(open64)
#define OPENER_AT(function)                                                                                          \
  int function(int directory, const char* path, int flags, ...) {                                                    \
    va_list more;                                                                                                    \
    va_start(more, flags);                                                                                           \
    const mode_t mode = mode_of(flags, more);                                                                        \
    va_end(more);                                                                                                    \
    return must_fail(OPEN) ? -1 : NEXT(int, #function, int, const char*, int, mode_t)(directory, path, flags, mode); \
  }
OPENER_AT(openat)
OPENER_AT(openat64)

ssize_t read(int fd, void* to, size_t size) {
  return must_fail(READ) ? -1 : NEXT(ssize_t, "read", int, void*, size_t)(fd, to, size);
}
ssize_t pread(int fd, void* to, size_t size, off_t at) {
  return must_fail(PREAD) ? -1 : NEXT(ssize_t, "pread", int, void*, size_t, off_t)(fd, to, size, at);
}
ssize_t pread64(int fd, void* to, size_t size, off64_t at) {
  return must_fail(PREAD) ? -1 : NEXT(ssize_t, "pread64", int, void*, size_t, off64_t)(fd, to, size, at);
}
ssize_t write(int fd, const void* from, size_t size) {
  return must_fail(WRITE) ? -1 : NEXT(ssize_t, "write", int, const void*, size_t)(fd, from, size);
}
struct dirent* readdir(DIR* directory) {
  return must_fail(READDIR) ? NULL : NEXT(struct dirent*, "readdir", DIR*)(directory);
}
struct dirent64* readdir64(DIR* directory) {
  return must_fail(READDIR) ? NULL : NEXT(struct dirent64*, "readdir64", DIR*)(directory);
}
int fstat(int fd, struct stat* about) { return must_fail(STAT) ? -1 : NEXT(int, "fstat", int, struct stat*)(fd, about); }
int stat(const char* path, struct stat* about) {
  return must_fail(STAT) ? -1 : NEXT(int, "stat", const char*, struct stat*)(path, about);
}
int accept4(int fd, struct sockaddr* from, socklen_t* length, int flags) {
  return must_fail(ACCEPT) ? -1 : NEXT(int, "accept4", int, struct sockaddr*, socklen_t*, int)(fd, from, length, flags);
}
ssize_t recv(int fd, void* to, size_t size, int flags) {
  return must_fail(RECV) ? -1 : NEXT(ssize_t, "recv", int, void*, size_t, int)(fd, to, size, flags);
}
ssize_t send(int fd, const void* from, size_t size, int flags) {
  return must_fail(SEND) ? -1 : NEXT(ssize_t, "send", int, const void*, size_t, int)(fd, from, size, flags);
}
ssize_t sendmsg(int fd, const struct msghdr* message, int flags) {
  return must_fail(SEND) ? -1 : NEXT(ssize_t, "sendmsg", int, const struct msghdr*, int)(fd, message, flags);
}
int poll(struct pollfd* entries, nfds_t size, int patience) {
  return must_fail(POLL) ? -1 : NEXT(int, "poll", struct pollfd*, nfds_t, int)(entries, size, patience);
}
int pipe(int ends[2]) { return must_fail(PIPE) ? -1 : NEXT(int, "pipe", int*)(ends); }
int pipe2(int ends[2], int flags) { return must_fail(PIPE) ? -1 : NEXT(int, "pipe2", int*, int)(ends, flags); }
int socketpair(int domain, int type, int protocol, int ends[2]) {
  return must_fail(SOCKETPAIR) ? -1 : NEXT(int, "socketpair", int, int, int, int*)(domain, type, protocol, ends);
}
int pthread_create(pthread_t* thread, const pthread_attr_t* how, void* (*body)(void*), void* argument) {
  if (must_fail(THREAD)) return EAGAIN;
  return NEXT(int, "pthread_create", pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)(thread, how, body,
                                                                                                 argument);
}
pid_t fork(void) { return must_fail(FORK) ? -1 : NEXT(pid_t, "fork", void)(); }
