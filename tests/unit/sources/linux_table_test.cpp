// SPDX-License-Identifier: BSD-2-Clause
// Bounded tables from handwritten files, and from this machine's kernel against system calls and against entries that the
// test makes itself. Captured kernels: tests/guests/checker.py.
#include <fcntl.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "core/query.h"
#include "tests/support/bundled_files.h"
#include "tests/support/fixtures.h"
#include "tests/support/prepared_kernel_view.h"
#include "tests/support/source_reading.h"
#include "tests/support/staged_statistics.h"
#include "tests/support/test.h"
#include "tests/support/whole_polls_view.h"

namespace memstat::linux_table_test {
namespace {

const SourceDescriptor& source() { return *find_source("linux_table"); }

class Tables : public testing::Test {
 protected:
  Tables() : files_(source()) {}
  std::string& file(const std::string& path) { return files_.contents["/proc/" + path]; }
  std::map<std::string, std::uint64_t> statistics() { return files_.statistics(); }
  BundledFiles files_;
};

/// A kernel's files, with the expected tables and statistics: fixtures/linux_table.txt.
struct TableCase {
  std::string why;
  std::map<std::string, std::string> files;  ///< Below /proc.
  std::map<std::string, std::string> figures;
  std::map<std::string, std::uint64_t> statistics;
};

std::string with_line_ends(std::string text) {
  for (std::size_t at = 0; (at = text.find('\\', at)) != std::string::npos; ++at) {
    text.replace(at, 2, 1, text.at(at + 1) == 'n' ? '\n' : '\t');
  }
  return text;
}

/// "files count=600" or "negative_dentries 151302".
void add_result(std::string_view text, TableCase& table) {
  if (const std::size_t blank = text.find(' '); text.find('=') != std::string_view::npos) {
    table.figures.emplace(text.substr(0, blank), text.substr(blank + 1));
    return;
  }
  const std::size_t blank = text.rfind(' ');
  const std::string number(text.substr(blank + 1));
  table.statistics.emplace(text.substr(0, blank), number.find('.') == std::string::npos
                                                      ? std::stoull(number)
                                                      : std::bit_cast<std::uint64_t>(std::stod(number)));
}

std::vector<TableCase> table_cases() {
  constexpr std::string_view kResult = "=> ";
  std::vector<TableCase> cases;
  std::map<std::string, std::string> shared;
  std::ifstream file(fixture_path("linux_table.txt"));
  bool begins = false;  // the lines before the first empty one are a comment
  for (std::string line; std::getline(file, line); begins = line.empty()) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with('@')) {
      shared.emplace(line.substr(0, colon), with_line_ends(line.substr(colon + 2)));
    } else if (!line.empty()) {
      if (begins) cases.emplace_back();
      if (cases.empty()) continue;
      if (line.starts_with('#')) {
        cases.back().why = line;
      } else if (line.starts_with(kResult)) {
        add_result(line.substr(kResult.size()), cases.back());
      } else {
        const std::string content = line.substr(colon + 2);
        cases.back().files[line.substr(0, colon)] = content.starts_with('@') ? shared.at(content) : with_line_ends(content);
      }
    }
  }
  return cases;
}

TEST_F(Tables, HaveTheFiguresAndStatisticsOfTheirFiles) {
  const std::vector<TableCase> cases = table_cases();
  EXPECT_GE(cases.size(), 33U);
  for (const TableCase& one : cases) {
    ASSERT_FALSE(one.files.empty() || one.figures.empty());
    SCOPED_TRACE(one.figures.begin()->first + ": " + one.files.begin()->second + one.why);
    files_.contents.clear();
    for (const auto& [path, content] : one.files) file(path) = content;
    for (const auto& [name, figures] : one.figures) EXPECT_EQ(files_.figures_of(name), figures) << name;
    EXPECT_EQ(statistics(), one.statistics);
    EXPECT_EQ(files_.staging().types().size(), one.figures.size());
  }
}

// The module is loaded while memstatd runs: its files are missing when the source opens.
TEST(TablesOfModules, AreSeenWithinFourReadsAfterTheModuleCame) {
  PreparedKernelView view(OperatingSystem::kLinux);
  view.contents["/proc/sys/fs/file-nr"] = {"10\t0\t100\n"};
  view.contents["/proc/loadavg"] = {"0.00 0.00 0.00 1/20 300\n"};
  SourceReader reader(source());
  MemoryTypeList list;
  std::uint64_t generation = 0;
  const auto has_conntrack = [&] {
    const auto result = refresh(reader, view, list, ++generation);
    EXPECT_TRUE(result) << to_string(result.error());
    const MemoryType* const type = list.find(Allocator::kTable, "conntrack");
    return type != nullptr && type->is_present();
  };
  ASSERT_TRUE(open_source(reader, view));
  for (int read = 0; read < 6; ++read) ASSERT_FALSE(has_conntrack());
  view.contents["/proc/sys/net/netfilter/nf_conntrack_count"] = {"7\n"};
  view.contents["/proc/sys/net/netfilter/nf_conntrack_max"] = {"70\n"};
  int reads = 1;
  while (!has_conntrack() && reads < 10) ++reads;
  EXPECT_LE(reads, 4);
  const MemoryType* const type = list.find(Allocator::kTable, "conntrack");
  ASSERT_NE(type, nullptr);
  EXPECT_EQ(type->figure(Field::kCount), 7U);
  EXPECT_EQ(type->figure(Field::kCountLimit), 70U);
  view.contents.erase("/proc/sys/net/netfilter/nf_conntrack_count");
  EXPECT_FALSE(has_conntrack()) << "the module went";
  EXPECT_NE(list.find(Allocator::kTable, "files"), nullptr);
}

TEST_F(Tables, ThatAreWrongAreRefusedWithThePlace) {
  file("sys/fs/aio-nr") = "1\n";
  const auto refused = [&](const std::string& path, const std::string& content, std::size_t offset = 0) {
    files_.expect_refused_with("/proc/" + path, content, offset);
  };
  for (const char* number : {"", "\n", "x\n", "-1\n", "1.5\n", "18446744073709551616\n"}) refused("sys/fs/aio-nr", number);
  refused("sys/fs/aio-nr", "12", 2);
  refused("sys/fs/aio-max-nr", "x\n");
  refused("sys/fs/file-nr", "1 2\n");
  refused("sys/fs/inode-state", "1\n");
  refused("sys/fs/dentry-state", "1 2 3 4\n");
  for (const char* load : {"", "1 2 3\n", "1 2 3 4\n", "1 2 3 4/\n", "1 2 3 4/x\n"}) refused("loadavg", load);
  refused("key-users", "0: 1 2/3 4/5 6/7\n1: 1 2/3 4/5\n", 17);
  refused("key-users", "0: 1 2/3 4/5 x/7\n");
  refused("key-users", "0: 1 18446744073709551615/3 4/5 6/7\n1: 1 2/3 4/5 6/7\n", 36);
  refused("net/stat/arp_cache", "entries\n");
  refused("net/stat/arp_cache", "new\n1\n");
  refused("net/stat/arp_cache", "entries\nx\n", 8);
  refused("sysvipc/shm", "key size\n1 x\n", 9);
  refused("sysvipc/shm", "key shmid\n1 2\n");
  refused("net/sockstat", "TCP: inuse 1 tw 2\n", 17);
  file("net/sockstat") = "TCP: orphan 1 tw 2\n";
  refused("net/netstat", "TcpExt: TCPTimeWaitOverflow\nTcpExt: x\n", 28);
  file("sys/net/netfilter/nf_conntrack_count") = "1\n";
  refused("net/stat/nf_conntrack", "drop\n1 2\nx\n", 9);
}

TEST_F(Tables, OfABundleThatIsCutShortOrEmptyAreRefused) {
  EXPECT_FALSE(files_.parse());
  file("sys/fs/epoll/max_user_watches") = "100\n";
  EXPECT_FALSE(files_.parse()) << "a limit is not a table";
  file("sys/fs/aio-nr") = "1\n";
  EXPECT_TRUE(files_.parse());
  files_.has_end = false;
  EXPECT_FALSE(files_.parse());
}

class LiveTables : public LiveSource<source> {
 protected:
  void SetUp() override {
    LiveSource::SetUp();
    if (view_) whole_ = std::make_unique<WholePollsView>(*view_);
  }
  /// One figure of a table now; nothing if this kernel lacks the table.
  std::optional<std::uint64_t> now(std::string_view name, Field field = Field::kCount) {
    const auto result = refresh(reader_, *whole_, list_, ++generation_);
    EXPECT_TRUE(result) << to_string(result.error());
    const MemoryType* type = list_.find(Allocator::kTable, name);
    if (!result || type == nullptr || !type->fields().has(field)) return std::nullopt;
    return type->figure(field);
  }
  /// Whether a figure once equals `other`'s, before and after: it may change in between.
  bool is_equal(std::string_view name, Field field, const std::function<std::uint64_t()>& other) {
    for (int tries = 0; tries < 1000; ++tries) {
      const std::uint64_t before = other();
      const auto seen = now(name, field);
      if (seen && *seen == before && before == other()) return true;
    }
    return false;
  }

  std::unique_ptr<WholePollsView> whole_;
};

TEST_F(LiveTables, CountThreadsAsSysinfoDoes) {
  if (!now("threads")) GTEST_SKIP() << "this kernel has no loadavg";
  EXPECT_TRUE(is_equal("threads", Field::kCount, [] {
    struct sysinfo info {};
    sysinfo(&info);
    return std::uint64_t{info.procs};
  }));
}

TEST_F(LiveTables, CountFilesThatTheTestHoldsOpen) {
  if (!now("files")) GTEST_SKIP() << "this kernel has no file-nr";
  std::vector<int> files;
  for (int i = 0; i < 300; ++i) {
    const int file = ::open("/proc/self/stat", O_RDONLY);
    if (file >= 0) files.push_back(file);
  }
  EXPECT_GE(now("files"), files.size());
  EXPECT_GE(files.size(), 200U);
  for (const int file : files) close(file);
  EXPECT_EQ(now("files", Field::kCountLimit).value_or(std::stoull(read_text("/proc/sys/fs/file-max"))),
            std::stoull(read_text("/proc/sys/fs/file-max")));
}

TEST_F(LiveTables, CountSharedMemoryAsShmctlDoes) {
  if (!now("sysv_shm")) GTEST_SKIP() << "this kernel has no System V IPC";
  const int segment = shmget(IPC_PRIVATE, 12345, 0600);
  if (segment < 0) GTEST_SKIP() << "no shared memory: " << std::strerror(errno);
  const auto count = [] {
    shm_info info{};
    shmctl(0, SHM_INFO, reinterpret_cast<shmid_ds*>(&info));
    return static_cast<std::uint64_t>(info.used_ids);
  };
  EXPECT_GE(count(), 1U);
  EXPECT_TRUE(is_equal("sysv_shm", Field::kCount, count));
  EXPECT_GE(now("sysv_shm", Field::kBytes), 12345U);
  shminfo limits{};
  shmctl(0, IPC_INFO, reinterpret_cast<shmid_ds*>(&limits));
  EXPECT_EQ(now("sysv_shm", Field::kCountLimit), limits.shmmni);
  shmctl(segment, IPC_RMID, nullptr);
}

TEST_F(LiveTables, CountSemaphoresAndMessagesAsTheirCallsDo) {
  if (!now("sysv_sem") || !now("sysv_msg")) GTEST_SKIP() << "this kernel has no System V IPC";
  const int set = semget(IPC_PRIVATE, 5, 0600);
  const int queue = msgget(IPC_PRIVATE, 0600);
  if (set < 0 || queue < 0) GTEST_SKIP() << "no System V IPC: " << std::strerror(errno);
  const auto semaphores = [] {
    seminfo info{};
    semctl(0, 0, SEM_INFO, &info);
    return info;
  };
  EXPECT_TRUE(is_equal("sysv_sem", Field::kCount, [&] { return static_cast<std::uint64_t>(semaphores().semusz); }));
  EXPECT_TRUE(is_equal("sysv_semaphores", Field::kCount, [&] { return static_cast<std::uint64_t>(semaphores().semaem); }));
  EXPECT_EQ(now("sysv_sem", Field::kCountLimit), static_cast<std::uint64_t>(semaphores().semmni));
  struct {
    long type = 1;
    char text[77] = {};
  } message;
  msgsnd(queue, &message, sizeof message.text, IPC_NOWAIT);
  EXPECT_TRUE(is_equal("sysv_msg", Field::kBytes, [] {
    msginfo info{};
    msgctl(0, static_cast<int>(MSG_INFO), reinterpret_cast<msqid_ds*>(&info));
    return static_cast<std::uint64_t>(info.msgtql);  // B, of all messages
  }));
  EXPECT_GE(now("sysv_msg", Field::kBytes), sizeof message.text);
  semctl(set, 0, IPC_RMID);
  msgctl(queue, IPC_RMID, nullptr);
}

TEST_F(LiveTables, CountKeysOfTheTest) {
  if (!now("keys")) GTEST_SKIP() << "this kernel has no keys";
  bool is_seen = false;
  // More than once, because others also create and drop keys, and the first one also creates a keyring.
  for (int tries = 0; tries < 45 && !is_seen; ++tries) {
    const auto before = now("keys");
    for (int i = 0; i < 4; ++i) {
      const std::string name = "memstat test " + std::to_string(tries * 4 + i);
      const long key = syscall(SYS_add_key, "user", name.c_str(), "x", 1, -2 /* the keyring of this process */);
      if (key < 0) GTEST_SKIP() << "no key: " << std::strerror(errno);
    }
    is_seen = now("keys") == *before + 4;
  }
  EXPECT_TRUE(is_seen);
}

TEST_F(LiveTables, CountAsynchronousOperationsAndTerminalsOfTheTest) {
  if (now("aio_events")) {
    unsigned long context = 0;
    if (syscall(SYS_io_setup, 64, &context) == 0) {
      EXPECT_GE(now("aio_events"), 64U);
      syscall(SYS_io_destroy, context);
    }
  }
  if (!now("ptys")) GTEST_SKIP() << "this kernel has no pseudo terminals";
  const int terminal = posix_openpt(O_RDWR);
  if (terminal < 0) GTEST_SKIP() << "no pseudo terminal: " << std::strerror(errno);
  EXPECT_GE(now("ptys"), 1U);
  close(terminal);
}

TEST_F(LiveTables, HaveNewSegments) {
  if (!now("sysv_shm")) GTEST_SKIP() << "this kernel has no System V IPC";
  const int segment = shmget(IPC_PRIVATE, 12347, 0600);
  if (segment < 0) GTEST_SKIP() << "no shared memory: " << std::strerror(errno);
  const std::uint64_t before = list_.find(Allocator::kTable, "sysv_shm")->figure(Field::kBytes);
  SourceReader fresh(source());  // the other one reads segments once a minute
  const auto result = refresh(fresh, *view_, list_, ++generation_);
  shmctl(segment, IPC_RMID, nullptr);
  ASSERT_TRUE(result);
  EXPECT_NE(list_.find(Allocator::kTable, "sysv_shm")->figure(Field::kBytes), before);
}

TEST_F(LiveTables, HaveNeighboursOnceAndNotForEachCpu) {
  Buffer text;
  if (!view_->read_file("/proc/net/stat/arp_cache", text)) GTEST_SKIP() << "not of our network namespace";
  EXPECT_TRUE(is_equal("arp_cache", Field::kCount, [&] {
    EXPECT_TRUE(view_->read_file("/proc/net/stat/arp_cache", text));
    const std::string lines(text.view());
    return std::stoull(lines.substr(lines.rfind('\n', lines.size() - 2) + 1), nullptr, 16);
  }));
}

}  // namespace
}  // namespace memstat::linux_table_test
