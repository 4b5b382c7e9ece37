// SPDX-License-Identifier: BSD-2-Clause
// The system call filter. A child process builds it with libseccomp, which crashes or loops if an allocation fails, and
// leaves some hundred kilobytes of heap behind.
#if defined(__linux__)
#include "daemon/privileges/capabilities_linux.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string_view>

#include "core/base/not_copyable.h"
#include "core/base/text.h"

#if defined(MEMSTAT_HAVE_SECCOMP)
#include <seccomp.h>
#endif

namespace memstat {
namespace {

#if defined(MEMSTAT_HAVE_SECCOMP)
long load_program(sock_filter* instructions, std::size_t count) {
  sock_fprog program{.len = static_cast<unsigned short>(count), .filter = instructions};
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

// Names separated by blanks, because names that this architecture or this libseccomp lacks are then simply skipped.
constexpr std::string_view kAllowed =
    // Memory.
    "brk mremap munmap madvise mlock mlock2 munlock "
    // Threads, scheduling, identity.
    "futex futex_time64 futex_waitv set_robust_list get_robust_list rseq set_tid_address membarrier exit exit_group "
    "gettid getpid getppid getuid geteuid getgid getegid getresuid getresgid getgroups getpgrp getpgid getsid "
    "wait4 waitid getcpu sched_yield sched_getaffinity sched_setaffinity sched_getscheduler sched_getparam "
    "sched_get_priority_max sched_get_priority_min capget "
    // Signals.
    "rt_sigaction rt_sigprocmask rt_sigreturn rt_sigtimedwait rt_sigtimedwait_time64 rt_sigpending rt_sigsuspend "
    "sigaltstack sigreturn signalfd signalfd4 restart_syscall pause "
    // Time.
    "clock_gettime clock_gettime64 clock_getres clock_getres_time64 clock_nanosleep clock_nanosleep_time64 "
    "nanosleep gettimeofday time times timerfd_create timerfd_settime timerfd_settime64 timerfd_gettime "
    // The machine and the daemon's own resource usage.
    "uname sysinfo getrusage getrlimit ugetrlimit getrandom "
    // Reading and writing.
    "read readv pread64 preadv preadv2 write writev pwrite64 pwritev pwritev2 lseek _llseek sendfile sendfile64 "
    "copy_file_range close close_range dup dup2 dup3 fcntl fcntl64 flock pipe pipe2 eventfd eventfd2 poll ppoll "
    "ppoll_time64 select _newselect pselect6 pselect6_time64 epoll_create epoll_create1 epoll_ctl epoll_wait "
    "epoll_pwait epoll_pwait2 "
    // Files: the kernel's, the configuration, recordings. Landlock and permissions decide which.
    "open openat openat2 creat stat stat64 lstat lstat64 fstat fstat64 newfstatat fstatat64 statx statfs statfs64 "
    "fstatfs fstatfs64 access faccessat faccessat2 readlink readlinkat getcwd getdents getdents64 mkdir mkdirat "
    "rmdir unlink unlinkat rename renameat renameat2 symlink symlinkat ftruncate ftruncate64 fallocate fsync "
    "fdatasync sync_file_range fadvise64 fadvise64_64 chmod fchmod fchmodat umask utimensat utimensat_time64 "
    // Sockets. No connect: the daemon makes no outgoing connections, and a process that reads root's statistics should
    // not be able to. No bind and no listen: HttpListeners has done both before.
    "accept accept4 getsockname getpeername getsockopt setsockopt shutdown recv recvfrom "
    "recvmsg recvmmsg send ";

// For the helper process: wait, answer, attach, exit.
constexpr std::string_view kAllowedToAttach =
    "brk mremap munmap madvise futex membarrier exit exit_group getpid gettid getppid rt_sigaction rt_sigprocmask "
    "rt_sigreturn restart_syscall clock_gettime clock_gettime64 recvmsg close perf_event_open ";

// For the helper process that examines processes: wait, read, answer, exit. It opens files only to read them.
constexpr std::string_view kAllowedToInspect =
    "brk mremap munmap madvise futex membarrier exit exit_group getpid gettid getppid rt_sigaction rt_sigprocmask "
    "rt_sigreturn restart_syscall clock_gettime clock_gettime64 poll ppoll ppoll_time64 recv recvfrom recvmsg close "
    "read readv pread64 lseek _llseek fcntl fcntl64 stat stat64 lstat lstat64 fstat fstat64 newfstatat fstatat64 statx "
    "statfs statfs64 fstatfs fstatfs64 access faccessat faccessat2 readlink readlinkat getdents getdents64 uname sysinfo "
    "getuid geteuid getgid getegid getrandom getsockname ";

// Calls that memstatd never makes, not even by a bug: they come from injected code.
constexpr std::string_view kKilled =
    "execve execveat ptrace process_vm_readv process_vm_writev process_madvise pidfd_getfd kcmp userfaultfd "
    "io_uring_setup io_uring_enter io_uring_register keyctl add_key request_key mount umount umount2 pivot_root "
    "chroot open_tree move_mount mount_setattr fsopen fsconfig fsmount fspick setns unshare kexec_load "
    "kexec_file_load init_module finit_module delete_module reboot swapon swapoff acct iopl ioperm modify_ldt "
    "open_by_handle_at settimeofday clock_settime clock_adjtime adjtimex stime sethostname setdomainname syslog "
    "vhangup quotactl personality uselib lookup_dcookie nfsservctl fanotify_init ";

constexpr std::uint64_t kCloneThread = 0x10000;
#if defined(__s390__) || defined(__s390x__)
constexpr unsigned kCloneFlagsArgument = 1;
#else
constexpr unsigned kCloneFlagsArgument = 0;
#endif
// BPF_ITER_CREATE; a number, because older headers lack it. It takes the descriptor of a program loaded with
// privileges, and returns one that runs it when read. linux_slab_bpf does this at every poll.
constexpr std::uint64_t kCreateIterator = 33;

// The bpf(2) commands that attach a loaded program.
constexpr std::uint64_t kOpenRawTracepoint = 17;
constexpr std::uint64_t kCreateLink = 28;

class Filter : NotCopyable {
 public:
  Filter() : context_(seccomp_init(SCMP_ACT_ERRNO(EPERM))) {}
  ~Filter() {
    if (context_ != nullptr) seccomp_release(context_);
  }

  void rule(std::uint32_t action, std::string_view name, std::initializer_list<scmp_arg_cmp> conditions = {}) {
    const int number = seccomp_syscall_resolve_name(std::string(name).c_str());
    if (number == __NR_SCMP_ERROR || context_ == nullptr) return;
    const int status =
        seccomp_rule_add_array(context_, action, number, static_cast<unsigned>(conditions.size()), conditions.begin());
    if (status != 0 && status != -EDOM && status_ == 0) status_ = status;  // EDOM: not on this architecture
  }
  void rules(std::uint32_t action, std::string_view names) {
    for (std::string_view name; next_word(names, name);) rule(action, name);
  }
  // Returns 0 or the first errno.
  int export_to(int file) {
    if (context_ == nullptr) return ENOMEM;
    if (status_ == 0) status_ = seccomp_export_bpf(context_, file);
    return -status_;
  }

 private:
  scmp_filter_ctx context_;
  int status_ = 0;
};

scmp_arg_cmp masked(unsigned argument, std::uint64_t mask, std::uint64_t value) {
  return scmp_arg_cmp{.arg = argument, .op = SCMP_CMP_MASKED_EQ, .datum_a = mask, .datum_b = value};
}

scmp_arg_cmp equal(unsigned argument, std::uint64_t value) {
  return scmp_arg_cmp{.arg = argument, .op = SCMP_CMP_EQ, .datum_a = value, .datum_b = 0};
}

// Compares the lower 32 bits of ioctl and prctl numbers: C libraries disagree on sign extension.
scmp_arg_cmp equal32(unsigned argument, std::uint32_t value) { return masked(argument, 0xffffffffU, value); }

void allow_serving(Filter& filter, std::uint32_t kill) {
  constexpr std::uint32_t kTypeMask = 0xf;  // without SOCK_NONBLOCK and SOCK_CLOEXEC
  filter.rules(SCMP_ACT_ALLOW, kAllowed);
  // Threads, but no processes. The flags of clone3 are in memory, which a filter cannot read. With ENOSYS the C library
  // falls back to clone.
  filter.rule(SCMP_ACT_ALLOW, "clone", {masked(kCloneFlagsArgument, kCloneThread, kCloneThread)});
  filter.rule(SCMP_ACT_ERRNO(ENOSYS), "clone3");
  // civetweb creates a socket and then cannot bind it. No local sockets: datagrams could reach any world-writable
  // socket file.
  filter.rule(SCMP_ACT_ALLOW, "socket", {equal32(0, AF_INET), masked(1, kTypeMask, SOCK_STREAM)});
  // A socket pair is connected to itself; a stream pair reaches no other process.
  filter.rule(SCMP_ACT_ALLOW, "socketpair", {equal32(0, AF_UNIX), masked(1, kTypeMask, SOCK_STREAM)});
  for (const std::uint32_t request : {FIONREAD, FIONBIO, FIOCLEX, FIONCLEX, TCGETS, TIOCOUTQ}) {
    filter.rule(SCMP_ACT_ALLOW, "ioctl", {equal32(1, request)});
  }
  for (const std::uint32_t option : {PR_SET_NAME, PR_GET_NAME}) filter.rule(SCMP_ACT_ALLOW, "prctl", {equal32(0, option)});
  // No more programs, maps or links can be created, nor opened by ID.
  filter.rule(SCMP_ACT_ALLOW, "bpf", {equal(0, kCreateIterator)});
  for (const scmp_compare other : {SCMP_CMP_LT, SCMP_CMP_GT}) {
    filter.rule(kill, "bpf", {scmp_arg_cmp{.arg = 0, .op = other, .datum_a = kCreateIterator, .datum_b = 0}});
  }
  filter.rule(SCMP_ACT_ALLOW, "prlimit64", {equal32(0, 0), equal(2, 0)});  // own limits, read-only
}

void allow_attaching(Filter& filter) {
  filter.rules(SCMP_ACT_ALLOW, kAllowedToAttach);
  for (const std::uint64_t command : {kOpenRawTracepoint, kCreateLink}) {
    filter.rule(SCMP_ACT_ALLOW, "bpf", {equal(0, command)});
  }
  for (const std::uint32_t request : {std::uint32_t{PERF_EVENT_IOC_SET_BPF}, std::uint32_t{PERF_EVENT_IOC_ENABLE}}) {
    filter.rule(SCMP_ACT_ALLOW, "ioctl", {equal32(1, request)});
  }
  filter.rule(SCMP_ACT_ALLOW, "prctl", {equal32(0, PR_SET_PDEATHSIG)});
}

void allow_inspecting(Filter& filter) {
  filter.rules(SCMP_ACT_ALLOW, kAllowedToInspect);
  constexpr std::uint64_t kChanges = O_ACCMODE | O_CREAT | O_TRUNC;
  filter.rule(SCMP_ACT_ALLOW, "open", {masked(1, kChanges, O_RDONLY)});
  filter.rule(SCMP_ACT_ALLOW, "openat", {masked(2, kChanges, O_RDONLY)});
  filter.rule(SCMP_ACT_ALLOW, "socket", {equal32(0, AF_NETLINK), equal32(2, NETLINK_SOCK_DIAG)});  // who queues
  filter.rule(SCMP_ACT_ALLOW, "prctl", {equal32(0, PR_SET_PDEATHSIG)});
}

void add_rules(Filter& filter, SystemCalls calls, pid_t self_process) {
  constexpr std::uint32_t kPrSetVma = 0x53564d41;  // glibc 2.39 names its arenas with it
  const std::uint32_t kill = seccomp_api_get() >= 3 ? SCMP_ACT_KILL_PROCESS : SCMP_ACT_KILL;
  filter.rules(kill, kKilled);
  if (calls == SystemCalls::kServing) {
    allow_serving(filter, kill);
  } else if (calls == SystemCalls::kInspecting) {
    allow_inspecting(filter);
  } else {
    allow_attaching(filter);
  }
  // Memory, but no new code.
  for (const char* const name : {"mmap", "mmap2", "mprotect"}) filter.rule(SCMP_ACT_ALLOW, name, {masked(2, PROT_EXEC, 0)});
  filter.rule(SCMP_ACT_ALLOW, "prctl", {equal32(0, kPrSetVma)});
  // Responses on connections: no destination address, and no connecting by sending (TCP Fast Open).
  filter.rule(SCMP_ACT_ALLOW, "sendto", {masked(3, MSG_FASTOPEN, 0), equal(4, 0)});
  filter.rule(SCMP_ACT_ALLOW, "sendmsg", {masked(2, MSG_FASTOPEN, 0)});
  // abort() and raise() must work, but not affect other processes.
  const auto self = static_cast<std::uint32_t>(self_process);
  for (const char* const name : {"tgkill", "kill"}) filter.rule(SCMP_ACT_ALLOW, name, {equal32(0, self)});
}

/// Writes the filter's BPF program to a file, twice. If an allocation fails in libseccomp, it may report success and omit
/// rules (seen with 2.5.4: 59 instructions of 305), and the first refused call would end the daemon. Of two filters in
/// memory at once, the same allocation cannot fail in both. Returns 0 or an errno.
int export_filters(SystemCalls calls, pid_t self_process, int file) {
  std::array<Filter, 2> filters;
  for (Filter& filter : filters) add_rules(filter, calls, self_process);
  for (Filter& filter : filters) {
    if (const int status = filter.export_to(file); status != 0) return status;
  }
  return 0;
}

/// Exits like a child that made no filter: the parent reports the crash.
void end_quietly(int /*signal*/) { _exit(ENOMEM); }

[[noreturn]] void make_filter(SystemCalls calls, pid_t self_process, int file) {
  constexpr rlimit kNoCore{0, 0};
  setrlimit(RLIMIT_CORE, &kNoCore);
  constexpr rlimit kOneSecond{1, 2};  // it takes milliseconds, or forever if an allocation failed
  setrlimit(RLIMIT_CPU, &kOneSecond);
  alarm(5);  // and if it hangs, memstatd must still start
  for (const int fault : {SIGSEGV, SIGBUS, SIGABRT}) signal(fault, end_quietly);
  int status = ENOMEM;
  try {
    status = export_filters(calls, self_process, file);
  } catch (...) {  // std::bad_alloc
  }
  _exit(status & 0xFF);
}

/// Reads the two filters that the child writes. Returns the number of instructions of one; 0 if they differ.
std::size_t read_program(int file, std::array<sock_filter, 2 * BPF_MAXINSNS>& programs) {
  std::size_t bytes = 0;
  auto* const room = reinterpret_cast<char*>(programs.data());
  while (bytes < sizeof programs) {
    const ssize_t got = read(file, room + bytes, sizeof programs - bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    bytes += static_cast<std::size_t>(got);
  }
  const bool is_same = bytes % (2 * sizeof(sock_filter)) == 0 && std::memcmp(room, room + bytes / 2, bytes / 2) == 0;
  return is_same ? bytes / 2 / sizeof(sock_filter) : 0;
}

/// Returns 0 if the filter is active, otherwise an errno.
int load_filter(SystemCalls calls) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return errno;
  const pid_t self_process = getpid();
  const pid_t child = fork();
  if (child == 0) make_filter(calls, self_process, ends[1]);
  const int failure = errno;
  close(ends[1]);
  static std::array<sock_filter, 2 * BPF_MAXINSNS> programs;  // 64 KiB, few pages in use; not on the stack
  const std::size_t count = child > 0 ? read_program(ends[0], programs) : 0;
  close(ends[0]);
  if (child < 0) return failure;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status)) return ENOMEM;
  if (WEXITSTATUS(status) != 0) return WEXITSTATUS(status);
  if (count == 0) return ENOMEM;
  return load_program(programs.data(), count) == 0 ? 0 : errno;
}
#endif

}  // namespace

Result<void> enter_seccomp([[maybe_unused]] SystemCalls calls, PrivilegeReport& report) {
#if defined(MEMSTAT_HAVE_SECCOMP)
  if (const int status = load_filter(calls); status == ENOMEM) {
    return no_memory_error("", "cannot make the filter of system calls: out of memory");
  } else if (status != 0) {
    report.notes.push_back(std::string("sandbox: no filter of system calls (") + std::strerror(status) +
                           "); the kernel may lack seccomp");
  } else {
    report.seccomp = true;
  }
#else
  report.notes.emplace_back("sandbox: built without libseccomp, so system calls are not filtered");
#endif
  return {};
}

}  // namespace memstat
#endif
