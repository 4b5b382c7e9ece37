// SPDX-License-Identifier: BSD-2-Clause
// The accounts of this machine's kernel add up, idle and while this program holds memory of every possible kind.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <condition_variable>

#include "core/query.h"
#include "tests/support/accounts_outcome.h"
#include "tests/support/fixtures.h"
#include "tests/support/meminfo.h"
#include "tests/support/staged_statistics.h"
#include "tests/support/test.h"

namespace memstat::linux_memory_live_test {
namespace {

const SourceDescriptor& source() { return *find_source("linux_memory"); }

/// Memory that the destructor frees.
class Mapping {
 public:
  Mapping(std::size_t size, int descriptor = -1) : size_(size) {
    const int flags = descriptor < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED;
    address_ = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, flags, descriptor, 0);
  }
  ~Mapping() {
    if (address_ != MAP_FAILED) ::munmap(address_, size_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  [[nodiscard]] bool is_there() const { return address_ != MAP_FAILED; }
  [[nodiscard]] char* data() const { return static_cast<char*>(address_); }
  void advise(int advice) { static_cast<void>(::madvise(address_, size_, advice)); }
  void touch(std::size_t stride) {
    for (std::size_t at = 0; at < size_; at += stride) data()[at] = static_cast<char>(at + 1);
  }

 private:
  std::size_t size_;
  void* address_;
};

class LiveMemory : public testing::Test {
 protected:
  void SetUp() override {
    auto view = make_live_kernel_view();
    if (!view || (*view)->os() != OperatingSystem::kLinux) GTEST_SKIP() << "this is not Linux";
    view_ = std::move(*view);
    reader_.emplace(source());
    ASSERT_TRUE(open_source(*reader_, *view_));
    ASSERT_TRUE(refresh(*reader_, *view_, list_, 1));
    free_ = find_meminfo(*view_, "MemAvailable").value_or(0);
  }
  /// Other processes allocate between our reads of several files, so a single poll may be off: one of many must be right.
  void expect_accounted(const std::string& when,
                        std::initializer_list<std::pair<const char*, std::uint64_t>> at_least = {}) {
    Outcome outcome;
    std::string lacking;
    for (int attempt = 0; attempt < 100; ++attempt) {
      ASSERT_TRUE(refresh(*reader_, *view_, list_, 2));
      outcome = outcome_of(reader_->staging);
      lacking.clear();
      for (const auto& [part, bytes] : at_least) {
        if (find_statistic(reader_->staging, kAccountedBytes, part).value_or(0) < bytes) lacking += part;
      }
      if (outcome.is_within() && lacking.empty()) break;
    }
    EXPECT_TRUE(outcome.is_within()) << when << "\n" << outcome.text;
    EXPECT_EQ(lacking, "") << when << "\n" << outcome.text;
    std::printf("%s: unaccounted %lld kB, bound %lld kB\n", when.c_str(), static_cast<long long>(outcome.unaccounted / 1024),
                static_cast<long long>(outcome.bound() / 1024));
  }

  std::unique_ptr<KernelView> view_;
  std::optional<SourceReader> reader_;
  MemoryTypeList list_;
  std::uint64_t free_ = 0;
};

TEST_F(LiveMemory, IsAccountedForButOnePercentWhenIdle) {
  expect_accounted("idle");
  std::printf("%s", outcome_of(reader_->staging).text.c_str());
}

TEST_F(LiveMemory, AgreesWithTheSystemCallOnTheTotal) {
  const auto pages = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES));
  EXPECT_EQ(find_statistic(reader_->staging, kTotalBytes), pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
}

TEST_F(LiveMemory, IsAccountedForWhileProcessesHoldMuch) {
  constexpr std::size_t kAnonymous = 256 * kMiB;
  constexpr std::size_t kShared = 64 * kMiB;
  constexpr std::size_t kFile = 64 * kMiB;
  constexpr std::size_t kTables = 2048;  // of 4 KiB, each with one page
  if (free_ < 1024 * kMiB) GTEST_SKIP() << "less than 1 GiB is available";
  Mapping anonymous(kAnonymous);
  ASSERT_TRUE(anonymous.is_there());
  anonymous.touch(4096);
  expect_accounted("anonymous memory", {{"anonymous", kAnonymous / 2}});

  const int descriptor = ::memfd_create("memstat", 0);
  ASSERT_GE(descriptor, 0);
  ASSERT_EQ(::ftruncate(descriptor, kShared), 0);
  Mapping shared(kShared, descriptor);
  ::close(descriptor);
  ASSERT_TRUE(shared.is_there());
  shared.touch(4096);
  expect_accounted("shared memory", {{"shared", kShared / 2}});

  const TemporaryDirectory directory;
  write_text(directory.file("cached"), std::string(kFile, 'x'));
  ASSERT_EQ(read_text(directory.file("cached")).size(), kFile);
  expect_accounted("page cache");

  // A page in every 2 MiB, so that each needs a table of its own.
  Mapping sparse(kTables * 2 * kMiB);
  if (sparse.is_there()) {
    sparse.advise(MADV_NOHUGEPAGE);
    sparse.touch(2 * kMiB);
    expect_accounted("page tables", {{"page_tables", kTables * 4096 / 2}});
  }
}

TEST_F(LiveMemory, IsAccountedForWhileThreadsHaveStacks) {
  constexpr int kThreads = 300;
  std::mutex mutex;
  std::condition_variable changed;
  bool is_over = false;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  try {
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return is_over; });
      });
    }
  } catch (const std::system_error&) {  // as many as there may be
  }
  expect_accounted("threads", {{"kernel_stacks", threads.size() * 8192}});
  {
    const std::lock_guard lock(mutex);
    is_over = true;
  }
  changed.notify_all();
  for (std::thread& thread : threads) thread.join();
}

/// Both ends of a connection over loopback.
struct Connection {
  int from = -1;
  int to = -1;
};
Connection connect_over_loopback() {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  Connection connection;
  const int large = 4 << 20;
  ::setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &large, sizeof large);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener, any, size) == 0 && ::listen(listener, 1) == 0 && ::getsockname(listener, any, &size) == 0) {
    connection.from = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ::setsockopt(connection.from, SOL_SOCKET, SO_SNDBUF, &large, sizeof large);
    if (::connect(connection.from, any, size) == 0) connection.to = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  }
  ::close(listener);
  return connection;
}

/// Data that is sent and not yet read.
TEST_F(LiveMemory, IsAccountedForWhileSocketsHoldMuch) {
  constexpr std::size_t kEnough = 64 * kMiB;
  const std::vector<char> piece(64 << 10, 'x');
  std::vector<Connection> connections;
  std::size_t held = 0;
  while (held < kEnough && connections.size() < 256) {
    connections.push_back(connect_over_loopback());
    const Connection& connection = connections.back();
    if (connection.to < 0) break;
    ssize_t sent = 0;
    while ((sent = ::send(connection.from, piece.data(), piece.size(), MSG_DONTWAIT | MSG_NOSIGNAL)) > 0) {
      held += static_cast<std::size_t>(sent);
    }
  }
  expect_accounted(std::to_string(held / kMiB) + " MiB in sockets", {{"sockets", held / 2}});
  for (const Connection& connection : connections) {
    ::close(connection.from);
    ::close(connection.to);
  }
  if (held < kEnough / 2) GTEST_SKIP() << "sockets cannot hold much here";
}

/// Pages given to a pipe and unmapped are on the LRU lists, and nothing else counts them.
TEST_F(LiveMemory, FindsPagesThatOnlyAPipeHolds) {
  constexpr std::size_t kPipes = 24;
  constexpr int kPipeSize = 1 << 20;
  std::vector<int> descriptors;
  std::size_t held = 0;
  {
    Mapping pages(kPipes * kPipeSize);
    ASSERT_TRUE(pages.is_there());
    pages.advise(MADV_NOHUGEPAGE);
    pages.touch(4096);
    for (std::size_t i = 0; i < kPipes; ++i) {
      int ends[2];
      if (::pipe2(ends, O_NONBLOCK) != 0) break;
      descriptors.insert(descriptors.end(), {ends[0], ends[1]});
      if (::fcntl(ends[1], F_SETPIPE_SZ, kPipeSize) < kPipeSize) break;
      iovec piece{pages.data() + i * kPipeSize, kPipeSize};
      const ssize_t given = ::vmsplice(ends[1], &piece, 1, 0);
      if (given > 0) held += static_cast<std::size_t>(given);
    }
  }
  // The LRU lists are filled in batches, so the last few pages may not be on them yet.
  expect_accounted("pages of " + std::to_string(held / kMiB) + " MiB in pipes", {{"detached", held / 2}});
  for (const int descriptor : descriptors) ::close(descriptor);
  if (held == 0) GTEST_SKIP() << "pipes cannot be made large enough";
}

}  // namespace
}  // namespace memstat::linux_memory_live_test
