// SPDX-License-Identifier: BSD-2-Clause
// Additions for the fifth set of situations: memory that containers keep, rings and pipes of other sizes, an audit queue
// that overflows.
#include <linux/audit.h>
#include <linux/io_uring.h>

#include "tests/situations/provoked/provoke.h"

// A pipe; ENOBUFS if the kernel silently gave it fewer slots than usual.
int make_slow_pipe(long i) {
  (void)i;
  int ends[2];
  if (pipe(ends) < 0) return errno;
  return fcntl(ends[1], F_GETPIPE_SZ) < 16 * kPage ? ENOBUFS : 0;
}
int make_wide_pipe(long i) {  // 256 slots, no data
  (void)i;
  int ends[2];
  if (pipe(ends) < 0) return errno;
  return errno_of(fcntl(ends[1], F_SETPIPE_SZ, kMiB));
}
int setup_large_ring(long i) {
  (void)i;
  struct io_uring_params parameters = {.flags = 0};
  return errno_of(syscall(SYS_io_uring_setup, 16384L, &parameters));
}

// Runs `make` in a child that then waits, or ends if it `leaves`; 0 or the child's errno.
static int in_child(int (*make)(long), long i, int leaves) {
  int ready[2];
  char error = EIO;
  if (pipe(ready) < 0) return errno;
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    error = (char)make(i);
    if (write(ready[1], &error, 1) != 1 || error || leaves) _exit(1);
    pause();
    _exit(0);
  }
  close(ready[1]);
  if (child < 0 || read(ready[0], &error, 1) != 1) error = EIO;
  close(ready[0]);
  if (leaves || error) waitpid(child, NULL, 0);
  return error;
}
int add_process_key(long i) {  // disappears with the process
  static char payload[3000];
  char name[32];
  snprintf(name, sizeof name, "ticket-%ld", i);
  return errno_of(syscall(SYS_add_key, "user", name, payload, sizeof payload, -2L /* the process' keyring */));
}

static int bind_namespace(long i) {
  char name[64];
  snprintf(name, sizeof name, "/tmp/netns/%ld", i);
  mkdir("/tmp/netns", 0777);
  close(creat(name, 0600));
  if (unshare(CLONE_NEWNET) < 0) return errno;
  return errno_of(mount("/proc/self/ns/net", name, NULL, MS_BIND, NULL));
}
int bind_network_namespace(long i) { return in_child(bind_namespace, i, 1); }  // as `ip netns add` does

// One page of each 64 of a sparse file: each is alone in a node of the page cache's index.
int read_sparse(long i) {
  static int file = -1;
  char byte;
  if (file < 0) {
    file = open(getenv("PROVOKE_FILE"), O_RDONLY);
    posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM);
  }
  return errno_of(pread(file, &byte, 1, i * 64L * kPage));
}

int stream_tcp(long i) {  // 4 MiB through one connection, read at once
  static int pair[2];
  static char data[65536];
  if (i == 0) {
    const int error = tcp_pair(pair);
    if (error) return error;
  }
  for (int k = 0; k < 64; ++k) {
    send(pair[0], data, sizeof data, MSG_DONTWAIT);
    while (recv(pair[1], data, sizeof data, MSG_DONTWAIT) > 0) continue;
  }
  return 0;
}

static int ask_audit(int type, const void* data, size_t size) {
  static int sock = -1;
  static struct {
    struct nlmsghdr header;
    char data[2048];
  } request;
  if (sock < 0) sock = socket(AF_NETLINK, SOCK_RAW, NETLINK_AUDIT);
  request.header = (struct nlmsghdr){
      .nlmsg_len = (uint32_t)NLMSG_LENGTH(size), .nlmsg_type = (uint16_t)type, .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK};
  memcpy(request.data, data, size);
  if (sock < 0 || send(sock, &request, request.header.nlmsg_len, 0) < 0) return errno;
  struct {
    struct nlmsghdr header;
    struct nlmsgerr answer;
    char rest[2048];
  } reply;
  return recv(sock, &reply, sizeof reply, 0) < 0 ? errno : -reply.answer.error;
}
static int set_audit(uint32_t enabled) {
  const struct audit_status status = {
      .mask = AUDIT_STATUS_ENABLED | AUDIT_STATUS_BACKLOG_LIMIT | AUDIT_STATUS_BACKLOG_WAIT_TIME,
      .enabled = enabled,
      .backlog_limit = 8};
  return ask_audit(AUDIT_SET, &status, sizeof status);
}
// Each getppid() is audited, and the queue of 8 records does not wait: 300 calls lose most of them.
int overflow_audit(long i) {
  if (i == 0) {
    static struct audit_rule_data rule = {.flags = AUDIT_FILTER_EXIT, .action = AUDIT_ALWAYS};
    rule.mask[SYS_getppid / 32] = 1U << SYS_getppid % 32;
    int error = set_audit(1);
    if (!error) error = ask_audit(AUDIT_ADD_RULE, &rule, sizeof rule);
    if (error) return error;
  }
  if (fork() == 0) {
    for (int k = 0; k < 300; ++k) syscall(SYS_getppid);
    _exit(0);
  }
  return errno_of(wait(NULL));
}
int end_audit(long i) { exit(i ? 1 : set_audit(0)); }
