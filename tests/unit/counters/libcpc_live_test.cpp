// SPDX-License-Identifier: BSD-2-Clause
// libcpc on this machine's kernel: a known number of events gives exactly that count, for a thread, for the threads it
// starts, for a process and for a CPU.
#include "tests/support/test.h"

#if defined(__linux__)
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/include/libcpc.h"
#include "tests/support/live_load.h"

namespace {

using memstat::FreshPages;
using memstat::OnCpu;

constexpr uint_t kBothModes = CPC_COUNT_USER | CPC_COUNT_SYSTEM;

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
  }
  void TearDown() override {
    if (cpc_ != nullptr) cpc_close(cpc_);
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
  pages.write();
  EXPECT_EQ(sample(buffer) - before, 300U);
}

TEST_F(LiveLibcpc, MigrationsOfTheThreadAreExact) {
  if (!OnCpu(0).is_there() || !OnCpu(1).is_there()) GTEST_SKIP() << "one CPU: nowhere to migrate to";
  cpc_buf_t* buffer = request("cpu-migrations");
  ASSERT_NE(buffer, nullptr) << last_error;
  const OnCpu first(0);
  ASSERT_EQ(cpc_bind_curlwp(cpc_, set_, 0), 0) << last_error;
  const std::uint64_t before = sample(buffer);
  for (int i = 0; i < 20; ++i) const OnCpu there_and_back(1);
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

TEST_F(LiveLibcpc, ACpuCountsWhateverRunsOnIt) {
  if (!mount_tracing()) GTEST_SKIP() << "tracefs cannot be mounted here: " << std::strerror(errno);
  cpc_buf_t* buffer = request(kRareCall);
  if (buffer == nullptr) GTEST_SKIP() << last_error;
  const OnCpu first(0);
  if (!first.is_there()) GTEST_SKIP() << "this thread may not choose its CPU";
  ASSERT_EQ(cpc_bind_cpu(cpc_, 0, set_, 0), 0) << last_error;
  call_rarely(11);
  std::thread([] { call_rarely(20); }).join();
  EXPECT_EQ(sample(buffer), 31U);
  const OnCpu second(1);
  if (!second.is_there()) return;
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
    pages.write();
    char byte = 0;
    if (::write(done_[1], &byte, 1) != 1) return;  // The part of its stack that it needs is in memory now.
    for (; ::read(go_[0], &byte, 1) == 1;) {
      pages.drop();
      pages.write();
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

}  // namespace
#endif
