/* SPDX-License-Identifier: BSD-2-Clause
 * Loaded into memstatd with LD_PRELOAD: from tzset(3) on, which is called while privileges are dropped, this process and its
 * threads may do what a process in FreeBSD's capability mode may, as far as Linux has calls for it: nothing by a path but
 * below an open directory, no connection, no address, no signal to others, no program. What is refused fails with EPERM and
 * is said on standard error, a line each, also where the C library itself does it.
 */
#include "tests/support/preload.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <ucontext.h>

enum rule { NEVER, AT, AT_TWICE, SELF, NO_ADDRESS };
struct call {
  int number;
  const char* name;
  enum rule rule;
  int path; /* which argument, for the line; -1: none */
};

#define ALLOWED 0x6361707369ULL /* the sixth argument of a checked call; none of the calls in question has one */

static const struct call calls[] = {
    {SYS_openat, "openat", AT, 1},
    {SYS_newfstatat, "newfstatat", AT, 1},
    {SYS_statx, "statx", AT, 1},
    {SYS_unlinkat, "unlinkat", AT, 1},
    {SYS_mkdirat, "mkdirat", AT, 1},
    {SYS_readlinkat, "readlinkat", AT, 1},
    {SYS_faccessat, "faccessat", AT, 1},
    {SYS_faccessat2, "faccessat2", AT, 1},
    {SYS_fchmodat, "fchmodat", AT, 1},
    {SYS_fchownat, "fchownat", AT, 1},
    {SYS_utimensat, "utimensat", AT, 1},
    {SYS_renameat2, "renameat2", AT_TWICE, 1},
    {SYS_linkat, "linkat", AT_TWICE, 1},
    {SYS_symlinkat, "symlinkat", NEVER, 0}, /* not needed, and its arguments are in another order */
    {SYS_chdir, "chdir", NEVER, 0},
    {SYS_statfs, "statfs", NEVER, 0},
    {SYS_truncate, "truncate", NEVER, 0},
    {SYS_execve, "execve", NEVER, 0},
    {SYS_connect, "connect", NEVER, -1},
    {SYS_bind, "bind", NEVER, -1},
    {SYS_sendto, "sendto", NO_ADDRESS, -1},
    {SYS_kill, "kill", SELF, -1},
#if defined(__x86_64__)
    {SYS_open, "open", NEVER, 0},
    {SYS_stat, "stat", NEVER, 0},
    {SYS_lstat, "lstat", NEVER, 0},
    {SYS_access, "access", NEVER, 0},
    {SYS_readlink, "readlink", NEVER, 0},
    {SYS_unlink, "unlink", NEVER, 0},
    {SYS_rmdir, "rmdir", NEVER, 0},
    {SYS_mkdir, "mkdir", NEVER, 0},
    {SYS_rename, "rename", NEVER, 0},
    {SYS_renameat, "renameat", AT_TWICE, 1},
    {SYS_creat, "creat", NEVER, 0},
    {SYS_chmod, "chmod", NEVER, 0},
    {SYS_chown, "chown", NEVER, 0},
    {SYS_link, "link", NEVER, 0},
    {SYS_symlink, "symlink", NEVER, 0},
    {SYS_utime, "utime", NEVER, 0},
#else
    {SYS_renameat, "renameat", AT_TWICE, 1},
#endif
};
enum { CALLS = sizeof calls / sizeof calls[0] };

static int is_below(uint64_t directory, uint64_t path) {
  const char* const name = (const char*)(uintptr_t)path;
  if ((int)directory == AT_FDCWD || name == NULL) return name == NULL && (int)directory != AT_FDCWD;
  if (name[0] == '/' || strcmp(name, "..") == 0 || strncmp(name, "../", 3) == 0 || strstr(name, "/../") != NULL) return 0;
  const size_t length = strlen(name);
  return length < 3 || strcmp(name + length - 3, "/..") != 0;
}

static int may(const struct call* call, const uint64_t* arguments) {
  switch (call->rule) {
    case AT: return is_below(arguments[0], arguments[1]);
    case AT_TWICE: return is_below(arguments[0], arguments[1]) && is_below(arguments[2], arguments[3]);
    case SELF: return (pid_t)arguments[0] == getpid();
    case NO_ADDRESS: return arguments[4] == 0;
    default: return 0;
  }
}

/* In place of a call that the filter stopped. */
static void decide(int signal, siginfo_t* about, void* context) {
  (void)signal;
  const int before = errno;
  ucontext_t* const at = context;
#if defined(__x86_64__)
  greg_t* const registers = at->uc_mcontext.gregs;
  const uint64_t arguments[] = {(uint64_t)registers[REG_RDI], (uint64_t)registers[REG_RSI], (uint64_t)registers[REG_RDX],
                                (uint64_t)registers[REG_R10], (uint64_t)registers[REG_R8]};
#else
  unsigned long long* const registers = at->uc_mcontext.regs;
  const uint64_t arguments[] = {registers[0], registers[1], registers[2], registers[3], registers[4]};
#endif
  long result = -EPERM;
  for (int i = 0; i < CALLS; ++i) {
    if (calls[i].number != about->si_syscall) continue;
    if (may(&calls[i], arguments)) {
      result = syscall(calls[i].number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], ALLOWED);
      if (result < 0) result = -errno;
      break;
    }
    const char* path = calls[i].path >= 0 ? (const char*)(uintptr_t)arguments[calls[i].path] : "";
    char line[600];
    const int size = snprintf(line, sizeof line, "capability mode refuses: %s %.500s\n", calls[i].name, path);
    if (write(STDERR_FILENO, line, (size_t)size) < 0) _exit(3);
  }
#if defined(__x86_64__)
  registers[REG_RAX] = result;
#else
  registers[0] = (unsigned long long)result;
#endif
  errno = before;
}

static void enter(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = decide;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGSYS, &action, NULL);

  struct sock_filter program[CALLS + 8];
  size_t size = 0;
  /* sendto has a sixth argument: with an address it is always refused, without one it need not be checked. */
  program[size++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[5]));
  program[size++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)ALLOWED, CALLS + 1, 0);
  program[size++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (int i = 0; i < CALLS; ++i) {
    const unsigned char to_trap = (unsigned char)(CALLS - i);
    program[size++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)calls[i].number, to_trap, 0);
  }
  program[size++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  program[size++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
  const struct sock_fprog filter = {.len = (unsigned short)size, .filter = program};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) != 0) {
    perror("capability mode: seccomp");
    _exit(3);
  }
  static const char entered[] = "capability mode is entered\n";
  if (write(STDERR_FILENO, entered, sizeof entered - 1) < 0) _exit(3);
}

/* A thread that blocks all signals would be killed by the filter's. */
int pthread_sigmask(int how, const sigset_t* set, sigset_t* before) {
  sigset_t without;
  if (set != NULL) {
    without = *set;
    if (how != SIG_UNBLOCK) sigdelset(&without, SIGSYS);
    set = &without;
  }
  return NEXT(pthread_sigmask)(how, set, before);
}

void tzset(void) {
  NEXT(tzset)();
  static int is_entered = 0;
  if (!is_entered) enter();
  is_entered = 1;
}
