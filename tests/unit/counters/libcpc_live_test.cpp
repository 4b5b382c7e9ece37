// SPDX-License-Identifier: BSD-2-Clause
// libcpc on this machine's kernel: a known number of events gives exactly that count, for a thread, for the threads it
// starts, for a process and for a CPU.
#include "tests/support/test.h"

#if defined(__linux__)
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/include/libcpc.h"

namespace {

constexpr uint_t kBothModes = CPC_COUNT_USER | CPC_COUNT_SYSTEM;

/// Untouched pages of this process; touching one causes one page fault.
class FreshPages {
 public:
  explicit FreshPages(std::size_t count)
      : size_(count * page_),
        bytes_(static_cast<volatile char*>(
            ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    ::madvise(const_cast<char*>(bytes_), size_, MADV_NOHUGEPAGE);
  }
  ~FreshPages() { ::munmap(const_cast<char*>(bytes_), size_); }
  FreshPages(const FreshPages&) = delete;
  FreshPages& operator=(const FreshPages&) = delete;
  void touch() const {
    for (std::size_t at = 0; at < size_; at += page_) bytes_[at] = 1;
  }
  void drop() const { ::madvise(const_cast<char*>(bytes_), size_, MADV_DONTNEED); }

 private:
  std::size_t page_ = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::size_t size_;
  volatile char* bytes_;
};

bool pin_to(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(cpu), &set);
  return ::sched_setaffinity(0, sizeof set, &set) == 0;
}

std::string last_error;
void keep_error(const char* fn, int, const char* fmt, va_list ap) {
  char text[1024];
  vsnprintf(text, sizeof text, fmt, ap);
  last_error = std::string(fn) + ": " + text;
}

class LiveLibcpc : public testing::Test {
 protected:
  void SetUp() override {
    if (*MEMSTAT_SANITIZER != '\0') GTEST_SKIP() << "the sanitizer's own page faults would be counted";
    cpc_ = cpc_open(CPC_VER_CURRENT);
    if (cpc_ == nullptr) GTEST_SKIP() << "no counters here: " << cpc_open_message();
    cpc_seterrhndlr(cpc_, keep_error);
    if (!counts_kernel() && ::geteuid() != 0) GTEST_SKIP() << last_error;
    set_ = cpc_set_create(cpc_);
    ::sched_getaffinity(0, sizeof before_, &before_);
  }
  void TearDown() override {
    if (cpc_ != nullptr) cpc_close(cpc_);
    ::sched_setaffinity(0, sizeof before_, &before_);
  }
  /// Whether this account may count what happens in the kernel (kernel.perf_event_paranoid).
  bool counts_kernel() {
    cpc_set_t* const set = cpc_set_create(cpc_);
    const bool is_permitted = cpc_set_add_request(cpc_, set, "page-faults", 0, kBothModes, 0, nullptr) < 0 ||
                              cpc_bind_curlwp(cpc_, set, 0) == 0 || errno != EACCES;
    cpc_set_destroy(cpc_, set);
    return is_permitted;
  }
  /// A buffer for a set of this one event; nullptr when it cannot be counted here.
  cpc_buf_t* request(const char* event) {
    if (cpc_set_add_request(cpc_, set_, event, 0, kBothModes, 0, nullptr) < 0) return nullptr;
    return cpc_buf_create(cpc_, set_);
  }
  std::uint64_t sample(cpc_buf_t* buffer) {
    EXPECT_EQ(cpc_set_sample(cpc_, set_, buffer), 0) << last_error;
    std::uint64_t value = 0;
    cpc_buf_get(cpc_, buffer, 0, &value);
    return value;
  }

  cpc_t* cpc_ = nullptr;
  cpc_set_t* set_ = nullptr;
  cpu_set_t before_{};
};

/// Entries of a system call that no program makes by chance.
constexpr const char* kRareCall = "syscalls:sys_enter_sched_rr_get_interval";
void call_rarely(int times) {
  for (int i = 0; i < times; ++i) ::syscall(SYS_sched_rr_get_interval, -1, nullptr);
}

/// Mounts tracefs in a mount namespace of this process, unless it is mounted already. False on failure.
bool mount_tracing() {
  if (::access("/sys/kernel/tracing/events", F_OK) == 0) return true;
  return ::unshare(CLONE_NEWNS) == 0 && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, nullptr) == 0;
}

TEST_F(LiveLibcpc, PageFaultsOfTheThreadAreExact) {
  cpc_buf_t* buffer = request("page-faults");
  ASSERT_NE(buffer, nullptr) << last_error;
  const FreshPages pages(300);
  ASSERT_EQ(cpc_bind_curlwp(cpc_, set_, 0), 0) << last_error;
  sample(buffer);  // including the faults of the sampling itself
  const std::uint64_t before = sample(buffer);
  pages.touch();
  EXPECT_EQ(sample(buffer) - before, 300U);
}

TEST_F(LiveLibcpc, MinorFaultsAreNotMajorOnes) {
  ASSERT_EQ(cpc_set_add_request(cpc_, set_, "minor-faults", 0, kBothModes, 0, nullptr), 0);
  ASSERT_EQ(cpc_set_add_request(cpc_, set_, "major-faults", 0, kBothModes, 0, nullptr), 1);
  cpc_buf_t* before = cpc_buf_create(cpc_, set_);
  cpc_buf_t* after = cpc_buf_create(cpc_, set_);
  const FreshPages pages(64);
  ASSERT_EQ(cpc_bind_curlwp(cpc_, set_, CPC_BIND_EXACT), 0) << last_error;
  cpc_set_sample(cpc_, set_, after);
  cpc_set_sample(cpc_, set_, before);
  pages.touch();
  cpc_set_sample(cpc_, set_, after);
  cpc_buf_sub(cpc_, after, after, before);
  std::uint64_t minor = 0, major = 0;
  cpc_buf_get(cpc_, after, 0, &minor);
  cpc_buf_get(cpc_, after, 1, &major);
  EXPECT_EQ(minor, 64U);
  EXPECT_EQ(major, 0U);
  EXPECT_GT(cpc_buf_tick(cpc_, after), 0U);
}

TEST_F(LiveLibcpc, MigrationsOfTheThreadAreExact) {
  if (CPU_COUNT(&before_) < 2) GTEST_SKIP() << "one CPU: nowhere to migrate to";
  int cpus[2] = {-1, -1};
  for (int cpu = 0, found = 0; cpu < CPU_SETSIZE && found < 2; ++cpu) {
    if (CPU_ISSET(static_cast<unsigned>(cpu), &before_)) cpus[found++] = cpu;
  }
  cpc_buf_t* buffer = request("cpu-migrations");
  ASSERT_NE(buffer, nullptr) << last_error;
  ASSERT_TRUE(pin_to(cpus[0]));
  ASSERT_EQ(cpc_bind_curlwp(cpc_, set_, 0), 0) << last_error;
  const std::uint64_t before = sample(buffer);
  for (int i = 1; i <= 40; ++i) ASSERT_TRUE(pin_to(cpus[i % 2]));
  EXPECT_EQ(sample(buffer) - before, 40U);
}

// A thread that waits for another on its CPU is switched out once per wait; the kernel's own count of the thread agrees.
TEST_F(LiveLibcpc, ContextSwitchesOfTheThreadAreExact) {
  cpc_buf_t* buffer = request("context-switches");
  ASSERT_NE(buffer, nullptr) << last_error;
  int there[2], back[2];
  ASSERT_EQ(::pipe(there), 0);
  ASSERT_EQ(::pipe(back), 0);
  constexpr int kRounds = 200;
  std::thread other([&] {
    char byte = 0;
    for (int i = 0; i < kRounds; ++i) {
      if (::read(there[0], &byte, 1) != 1 || ::write(back[1], &byte, 1) != 1) return;
    }
  });
  ASSERT_EQ(cpc_bind_curlwp(cpc_, set_, 0), 0) << last_error;
  const auto switches = [] {
    rusage usage{};
    ::getrusage(RUSAGE_THREAD, &usage);
    return static_cast<std::uint64_t>(usage.ru_nvcsw + usage.ru_nivcsw);
  };
  // A switch between the two readings would be in only one of them: then they are repeated.
  const auto both = [&](std::uint64_t& ours, std::uint64_t& kernels) {
    do {
      kernels = switches();
      ours = sample(buffer);
    } while (switches() != kernels);
  };
  std::uint64_t before = 0, kernel_before = 0, after = 0, kernel_after = 0;
  both(before, kernel_before);
  char byte = 0;
  for (int i = 0; i < kRounds; ++i) {
    ASSERT_EQ(::write(there[1], &byte, 1), 1);
    ASSERT_EQ(::read(back[0], &byte, 1), 1);
  }
  both(after, kernel_after);
  other.join();
  EXPECT_EQ(after - before, kernel_after - kernel_before);
  EXPECT_GT(after - before, 0U);
  for (const int fd : {there[0], there[1], back[0], back[1]}) ::close(fd);
}

TEST_F(LiveLibcpc, ThreadsBegunLaterAreCountedWhenInherited) {
  if (!mount_tracing()) GTEST_SKIP() << "tracefs cannot be mounted here: " << std::strerror(errno);
  cpc_buf_t* buffer = request(kRareCall);
  if (buffer == nullptr) GTEST_SKIP() << last_error;
  for (const uint_t flags : {static_cast<uint_t>(CPC_BIND_LWP_INHERIT), 0U}) {
    ASSERT_EQ(cpc_bind_curlwp(cpc_, set_, flags), 0) << last_error;
    call_rarely(3);
    std::thread([] { call_rarely(20); }).join();
    const pid_t child = ::fork();
    if (child == 0) {
      call_rarely(100);
      ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
    EXPECT_EQ(sample(buffer), flags == 0 ? 3U : 123U);
  }
}

TEST_F(LiveLibcpc, RestartForgetsWhatEndedThreadsCounted) {
  if (!mount_tracing()) GTEST_SKIP() << "tracefs cannot be mounted here: " << std::strerror(errno);
  cpc_buf_t* buffer = request(kRareCall);
  if (buffer == nullptr) GTEST_SKIP() << last_error;
  ASSERT_EQ(cpc_bind_curlwp(cpc_, set_, CPC_BIND_LWP_INHERIT), 0) << last_error;
  std::thread([] { call_rarely(20); }).join();
  ASSERT_EQ(cpc_set_restart(cpc_, set_), 0);
  call_rarely(4);
  EXPECT_EQ(sample(buffer), 4U);
}

TEST_F(LiveLibcpc, ACpuCountsWhateverRunsOnIt) {
  if (!mount_tracing()) GTEST_SKIP() << "tracefs cannot be mounted here: " << std::strerror(errno);
  cpc_buf_t* buffer = request(kRareCall);
  if (buffer == nullptr) GTEST_SKIP() << last_error;
  int highest = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<unsigned>(cpu), &before_)) highest = cpu;
  }
  ASSERT_EQ(cpc_bind_cpu(cpc_, highest, set_, 0), 0) << last_error;
  ASSERT_TRUE(pin_to(highest));
  call_rarely(11);
  std::thread([] { call_rarely(20); }).join();
  EXPECT_EQ(sample(buffer), 31U);
  if (CPU_COUNT(&before_) < 2) return;
  cpu_set_t others = before_;
  CPU_CLR(static_cast<unsigned>(highest), &others);
  ASSERT_EQ(::sched_setaffinity(0, sizeof others, &others), 0);
  call_rarely(5);
  EXPECT_EQ(sample(buffer), 31U) << "it does not include other CPUs";
}

/// A process with two threads that touch fresh pages on request, repeatedly.
class ToucherProcess {
 public:
  static constexpr int kPages = 50;
  ToucherProcess() {
    if (::pipe(go_) != 0 || ::pipe(done_) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(go_[1]);
      std::thread second([this] { serve(); });
      serve();
      second.join();
      ::_exit(0);
    }
    ::close(go_[0]);
    char byte = 0;
    for (int thread = 0; thread < 2; ++thread) EXPECT_EQ(::read(done_[0], &byte, 1), 1);
  }
  ~ToucherProcess() {
    ::close(go_[1]);
    ::waitpid(pid_, nullptr, 0);
    ::close(done_[0]);
    ::close(done_[1]);
  }
  ToucherProcess(const ToucherProcess&) = delete;
  ToucherProcess& operator=(const ToucherProcess&) = delete;
  /// Makes some thread touch its pages; returns when it has.
  void go() {
    char byte = 0;
    EXPECT_EQ(::write(go_[1], &byte, 1), 1);
    EXPECT_EQ(::read(done_[0], &byte, 1), 1);
  }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  void serve() {
    const FreshPages pages(kPages);
    pages.touch();
    char byte = 0;
    if (::write(done_[1], &byte, 1) != 1) return;  // The part of its stack that it needs is in memory now.
    for (; ::read(go_[0], &byte, 1) == 1;) {
      pages.drop();
      pages.touch();
      if (::write(done_[1], &byte, 1) != 1) return;
    }
  }
  int go_[2] = {-1, -1};
  int done_[2] = {-1, -1};
  pid_t pid_ = -1;
};

TEST_F(LiveLibcpc, AProcessIsCountedWithAllItsThreads) {
  cpc_buf_t* buffer = request("page-faults");
  ASSERT_NE(buffer, nullptr) << last_error;
  ToucherProcess process;
  for (int i = 0; i < 20; ++i) process.go();  // Both threads have their stacks now.
  pctx_t* pctx = pctx_capture(process.pid(), nullptr, 0, nullptr);
  ASSERT_NE(pctx, nullptr);
  ASSERT_EQ(cpc_bind_pctx(cpc_, pctx, CPC_ALL_LWPS, set_, 0), 0) << last_error;
  const std::uint64_t before = sample(buffer);
  for (int i = 0; i < 10; ++i) process.go();
  EXPECT_EQ(sample(buffer) - before, 10U * ToucherProcess::kPages);
  pctx_release(pctx);
}

TEST_F(LiveLibcpc, AThreadThatIsNotThereIsAnError) {
  request("page-faults");
  EXPECT_EQ(pctx_capture(1 << 30, nullptr, 0, [](const char*, const char*, va_list) {}), nullptr);
  EXPECT_EQ(errno, ESRCH);
  pctx_t* pctx = pctx_capture(::getpid(), nullptr, 0, nullptr);
  EXPECT_EQ(cpc_bind_pctx(cpc_, pctx, 1 << 30, set_, 0), -1);
  EXPECT_EQ(errno, ESRCH);
  EXPECT_EQ(cpc_bind_pctx(cpc_, pctx, 1, set_, 0), 0) << "1 is the first thread, as on Solaris";
  pctx_release(pctx);
}

TEST_F(LiveLibcpc, ACommandIsCountedFromItsExecOn) {
  if (!mount_tracing()) GTEST_SKIP() << "tracefs cannot be mounted here: " << std::strerror(errno);
  cpc_buf_t* buffer = request("syscalls:sys_enter_execve");
  if (buffer == nullptr) GTEST_SKIP() << last_error;
  char name[] = "sh", option[] = "-c", script[] = "/bin/true; /bin/true; exit 7";
  char* const argv[] = {name, option, script, nullptr};
  pctx_t* pctx = pctx_create("sh", argv, nullptr, 0, nullptr);
  ASSERT_NE(pctx, nullptr);
  ASSERT_EQ(cpc_bind_pctx(cpc_, pctx, CPC_ALL_LWPS, set_, 0), 0) << last_error;
  EXPECT_EQ(sample(buffer), 0U);
  ASSERT_EQ(pctx_run(pctx, 0, 0, nullptr), 0);
  EXPECT_EQ(sample(buffer), 2U) << "what sh began";
  pctx_release(pctx);
  int status = 0;
  EXPECT_GT(::waitpid(-1, &status, 0), 0);
  EXPECT_EQ(WEXITSTATUS(status), 7) << "the status remains for the caller";
}

TEST_F(LiveLibcpc, ACommandThatIsNotThereIsAnError) {
  char name[] = "/nonexistent/program";
  char* const argv[] = {name, nullptr};
  pctx_t* pctx = pctx_create(name, argv, nullptr, 0, [](const char*, const char*, va_list) {});
  ASSERT_NE(pctx, nullptr);
  EXPECT_EQ(pctx_run(pctx, 0, 0, nullptr), -1);
  EXPECT_EQ(errno, ENOENT);
  pctx_release(pctx);
  ::waitpid(-1, nullptr, 0);
  pctx = pctx_create("true", argv, nullptr, 0, nullptr);
  pctx_release(pctx);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a process that was never released is gone";
}

cpc_t* handler_cpc;
cpc_set_t* handler_set;
std::atomic<int> overflows;
std::atomic<int> signal_code;

void on_overflow(int, siginfo_t* info, void*) {
  signal_code = info->si_code;
  ++overflows;
  cpc_set_restart(handler_cpc, handler_set);
}

TEST_F(LiveLibcpc, AnOverflowIsASignalWithTheOriginalsCode) {
  ASSERT_EQ(
      cpc_set_add_request(cpc_, set_, "page-faults", 0 - std::uint64_t{10}, kBothModes | CPC_OVF_NOTIFY_EMT, 0, nullptr), 0);
  cpc_buf_t* buffer = cpc_buf_create(cpc_, set_);
  handler_cpc = cpc_;
  handler_set = set_;
  overflows = 0;
  struct sigaction action {};
  struct sigaction old {};
  action.sa_sigaction = on_overflow;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  ASSERT_EQ(::sigaction(SIGEMT, &action, &old), 0);
  const FreshPages warm(25), pages(45);
  ASSERT_EQ(cpc_bind_curlwp(cpc_, set_, 0), 0) << last_error;
  warm.touch();  // and the handler has run
  ASSERT_EQ(cpc_set_restart(cpc_, set_), 0);
  sample(buffer);
  ASSERT_EQ(cpc_set_restart(cpc_, set_), 0);
  overflows = 0;
  pages.touch();
  EXPECT_EQ(overflows, 4);
  EXPECT_EQ(signal_code, EMT_CPCOVF);
  EXPECT_EQ(sample(buffer), 0 - std::uint64_t{10} + 5) << "five since the last restart";
  ::sigaction(SIGEMT, &old, nullptr);
}

TEST_F(LiveLibcpc, ListsTheEventsThatCountHere) {
  EXPECT_EQ(cpc_access(), 0);
  int events = 0;
  cpc_walk_events_all(cpc_, &events, [](void* arg, const char*) { ++*static_cast<int*>(arg); });
  EXPECT_GE(events, 12);
  // The generic hardware events exist if and only if there are counters.
  const bool has_counters = cpc_npic(cpc_) > 0;
  if (!has_counters) {
    ASSERT_EQ(cpc_set_add_request(cpc_, set_, "instructions", 0, CPC_COUNT_USER, 0, nullptr), 0);
    EXPECT_EQ(cpc_bind_curlwp(cpc_, set_, 0), -1);
    EXPECT_NE(last_error.find("event instructions on this thread: this CPU does not have the event"), std::string::npos)
        << last_error;
  }
}

}  // namespace
#endif
