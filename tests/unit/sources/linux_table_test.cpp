// SPDX-License-Identifier: BSD-2-Clause
// Bounded tables from files made by hand, from captured kernels, and from this machine's kernel against system calls and
// against entries that the test makes itself.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "core/query.h"
#include "tests/support/bundled_files.h"
#include "tests/support/fixtures.h"
#include "tests/support/prepared_kernel_view.h"
#include "tests/support/source_reading.h"
#include "tests/support/staged_statistics.h"
#include "tests/support/whole_polls_view.h"

namespace memstat::linux_table_test {
namespace {

const SourceDescriptor& source() { return *find_source("linux_table"); }

class Tables : public testing::Test {
 protected:
  Tables() : files_(source()) {}
  std::string& file(const std::string& path) { return files_.contents["/proc/" + path]; }
  std::map<std::string, std::uint64_t> statistics() {
    const auto result = files_.parse();
    EXPECT_TRUE(result) << to_string(result.error());
    EXPECT_TRUE(has_unique_statistics(files_.staging()));
    return statistics_of(files_.staging());
  }
  BundledFiles files_;
};

/// A kernel with these files has these tables, and these statistics.
struct TableCase {
  std::map<std::string, std::string> files;  ///< Below /proc.
  std::map<std::string, std::string> figures;
  std::map<std::string, std::uint64_t> statistics = {};
  const char* why = "";
};

const char* const kArp =
    "entries  allocs destroys hash_grows  lookups hits  res_failed  rcv_probes_mcast rcv_probes_ucast  periodic_gc_runs "
    "forced_gc_runs unresolved_discards table_fulls\n"
    "00000011  0000000d 0000000d 00000000  00000515 00000089  00000015  00000000 00000000  00000267 000003a1 00000023 "
    "0000039c\n"
    "00000011  0000001c 0000001a 00000000  00001675 00000374  00000093  00000000 00000000  000003bf 00000252 00000046 "
    "00000240\n";
const char* const kConntrack =
    "entries  clashres new insert insert_failed drop early_drop icmp_error\n"
    "0000000c  00000000 00000000 00000000 00000002 00000014 0000000a 00000000\n"
    "0000000c  00000000 00000000 00000000 00000003 ffffffff 00000001 00000000\n";
const char* const kShm =
    "       key      shmid perms                  size  cpid  lpid nattch   uid   gid  cuid  cgid      atime      dtime\n"
    "         0          0   600               1048576   131     0      0     0     0     0     0          0          0\n"
    "        -1          1   600                  5000   131     0      0     0     0     0     0          0          0\n";

std::vector<TableCase> table_cases() {
  return {
      {{{"sys/fs/file-nr", "627\t27\t2466170\n"}}, {{"files", "count=600 countlimit=2466170"}}},
      {{{"sys/fs/file-nr", "627\t0\t9223372036854775807\n"}}, {{"files", "count=627"}}, {}, "unlimited"},
      {{{"sys/fs/inode-state", "336936\t936\t0\t0\t0\t0\t0\n"}}, {{"inodes", "count=336000 free=936"}}},
      {{{"sys/fs/inode-state", "10\t11\t0\t0\t0\t0\t0\n"}},
       {{"inodes", "count=0 free=10"}},
       {},
       "counted one after the other"},
      {{{"sys/fs/dentry-state", "488408\t486799\t45\t0\t151302\t0\n"}},
       {{"dentries", "count=1609 free=486799"}},
       {{"negative_dentries", 151302}}},
      {{{"sys/net/netfilter/nf_conntrack_count", "12\n"}}, {{"conntrack", "count=12"}}},
      {{{"sys/net/netfilter/nf_conntrack_count", "12\n"},
        {"sys/net/netfilter/nf_conntrack_max", "262144\n"},
        {"net/stat/nf_conntrack", kConntrack}},
       {{"conntrack", "count=12 failures=4294967315 countlimit=262144"}},
       {{"table_events_total{conntrack,early_drop}", 11}, {"table_events_total{conntrack,insert_failed}", 5}}},
      {{{"sys/net/netfilter/nf_conntrack_count", "12\n"},
        {"sys/net/netfilter/nf_conntrack_max", "0\n"},
        {"net/stat/nf_conntrack", kConntrack}},
       {{"conntrack", "count=12 failures=4294967315"}},
       {{"table_events_total{conntrack,early_drop}", 11}, {"table_events_total{conntrack,insert_failed}", 5}},
       "0 is unlimited"},
      {{{"net/stat/arp_cache", kArp}},
       {{"arp_cache", "count=17 failures=1500"}},
       {{"table_events_total{arp_cache,forced_gc_runs}", 0x3a1U + 0x252U},
        {"table_events_total{arp_cache,unresolved_discards}", 0x23U + 0x46U}},
       "entries are those of the table in each line"},
      {{{"net/stat/arp_cache", kArp},
        {"net/stat/ndisc_cache", "entries\n00000005\n"},
        {"sys/net/ipv4/neigh/default/gc_thresh2", "512\n"},
        {"sys/net/ipv4/neigh/default/gc_thresh3", "1024\n"}},
       {{"arp_cache", "count=17 failures=1500 countlimit=1024"}, {"ndisc_cache", "count=5"}},
       {{"table_events_total{arp_cache,forced_gc_runs}", 0x3a1U + 0x252U},
        {"table_events_total{arp_cache,unresolved_discards}", 0x23U + 0x46U},
        {"table_soft_limit_objects{arp_cache}", 512}}},
      {{{"net/stat/arp_cache", "entries table_fulls\n00000400 00000000\n"},
        {"sys/net/ipv4/neigh/default/gc_thresh3", "1024\n"}},
       {{"arp_cache", "count=1024 failures=0 countlimit=1024"}}},
      {{{"net/stat/arp_cache", "entries table_fulls\n00000401 00000000\n"},
        {"sys/net/ipv4/neigh/default/gc_thresh3", "1024\n"}},
       {{"arp_cache", "count=1025 failures=0"}},
       {},
       "permanent ones count for no limit"},
      {{{"net/stat/arp_cache", "entries table_fulls\n00000401 00000001\n"},
        {"sys/net/ipv4/neigh/default/gc_thresh3", "1024\n"}},
       {{"arp_cache", "count=1025 failures=1 countlimit=1024"}},
       {},
       "some were refused, so the limit holds"},
      {{{"sys/vm/overcommit_memory", "2\n"}, {"meminfo", "MemTotal: 9 kB\nCommitLimit: 6 kB\nCommitted_AS: 7 kB\n"}},
       {{"committed", "bytes=7168 byteslimit=6144"}}},
      {{{"sys/vm/overcommit_memory", "0\n"},
        {"sys/vm/max_map_count", "65530\n"},
        {"meminfo", "CommitLimit: 6 kB\nCommitted_AS: 7 kB\n"}},
       {{"process_maps", "countlimit=65530"}},
       {},
       "only mode 2 applies the commit limit"},
      {{{"sys/net/core/somaxconn", "4096\n"}, {"net/netstat", "TcpExt: A ListenOverflows\nTcpExt: 1 5\n"}},
       {{"accept_queues", "failures=5 countlimit=4096"}}},
      {{{"sys/net/core/rmem_max", "212992\n"}, {"sys/net/core/wmem_max", "425984\n"}},
       {{"socket_receive_buffers", "byteslimit=212992"}, {"socket_send_buffers", "byteslimit=425984"}}},
      {{{"loadavg", "2.62 1.56 3.44 5/104 2902\n"}}, {{"threads", "count=104"}}},
      {{{"loadavg", "2.62 1.56 3.44 5/104 2902\n"}, {"sys/kernel/threads-max", "62938\n"}},
       {{"threads", "count=104 countlimit=62938"}}},
      {{{"loadavg", "2.62 1.56 3.44 5/104 2902\n"},
        {"sys/kernel/threads-max", "62938\n"},
        {"sys/kernel/pid_max", "32768\n"}},
       {{"threads", "count=104 countlimit=32468"}},
       {},
       "the lower of two limits, without the numbers that are reserved"},
      {{{"loadavg", "2.62 1.56 3.44 5/104 2902\n"}, {"sys/kernel/threads-max", "62938\n"}, {"sys/kernel/pid_max", "301\n"}},
       {{"threads", "count=104 countlimit=1"}}},
      {{{"loadavg", "2.62 1.56 3.44 5/104 2902\n"},
        {"sys/kernel/threads-max", "62938\n"},
        {"sys/kernel/pid_max", "4194304\n"}},
       {{"threads", "count=104 countlimit=62938"}}},
      {{{"key-users",
         "    0:     9 8/8 3/1000000 40/25000000\n"
         " 1000:     5 150/5 150/200 5000/20000\n"
         "65534:     5 1/1 10/0 19000/20000 new\n"}},
       {{"keys", "bytes=24040 count=159"}},
       {{"table_user_used_ratio{keys,count}", std::bit_cast<std::uint64_t>(0.75)},
        {"table_user_used_ratio{keys,bytes}", std::bit_cast<std::uint64_t>(0.95)}},
       "a quota for each user"},
      {{{"key-users", ""}},
       {{"keys", "bytes=0 count=0"}},
       {{"table_user_used_ratio{keys,count}", 0}, {"table_user_used_ratio{keys,bytes}", 0}},
       "none of our user namespace"},
      {{{"sysvipc/shm", kShm}}, {{"sysv_shm", "bytes=1053576 count=2"}}},
      {{{"sysvipc/shm", kShm}, {"sys/kernel/shmmni", "4096\n"}, {"sys/kernel/shmall", "18446744073692774399\n"}},
       {{"sysv_shm", "bytes=1053576 count=2 countlimit=4096"}}},
      {{{"sysvipc/shm", kShm}, {"sys/kernel/shmmni", "4096\n"}, {"sys/kernel/shmall", "1000\n"}},
       {{"sysv_shm", "bytes=1053576 count=2 countlimit=4096 byteslimit=4096000"}}},
      {{{"sysvipc/shm",
         "key shmid perms size nattch rss swap\n0 0 600 8192 2 4096 0\n0 1 600 99999 0 4096 8192\n0 2 600 5 0 0 4096\n"}},
       {{"sysv_shm", "bytes=108196 count=3"}},
       {{"sysv_shm_held_bytes{memory}", 8192},
        {"sysv_shm_held_bytes{swap}", 12288},
        {"sysv_shm_unattached_bytes", 16384},
        {"sysv_shm_unattached_objects", 2}},
       "what nobody has attached"},
      {{{"sysvipc/sem", "key semid perms nsems\n0 0 600 7\n0 1 600 3\n"},
        {"sys/kernel/sem", "32000\t1024000000\t500\t32000\n"}},
       {{"sysv_sem", "count=2 countlimit=32000"}, {"sysv_semaphores", "count=10 countlimit=1024000000"}}},
      {{{"sysvipc/msg", "key msqid perms cbytes qnum\n"}, {"sys/kernel/msgmni", "32000\n"}},
       {{"sysv_msg", "bytes=0 count=0 countlimit=32000"}}},
      {{{"net/sockstat", "sockets: used 13\nTCP: inuse 1 orphan 20 tw 30 alloc 1 mem 0\n"},
        {"sys/net/ipv4/tcp_max_orphans", "131072\n"},
        {"sys/net/ipv4/tcp_max_tw_buckets", "131073\n"}},
       {{"tcp_orphans", "count=20 countlimit=131072"}, {"tcp_time_wait", "count=30 countlimit=131073"}},
       {{"table_soft_limit_objects{tcp_orphans}", 32768}},
       "connections that no process has open: stuck ones are reset from a quarter on"},
      {{{"net/sockstat", "TCP: inuse 1 orphan 20 tw 30 alloc 1 mem 0\n"},
        {"sys/net/ipv4/tcp_max_tw_buckets", "131073\n"},
        {"net/netstat", "TcpExt: TW TCPTimeWaitOverflow\nTcpExt: 9 4\n"}},
       {{"tcp_orphans", "count=20"}, {"tcp_time_wait", "count=30 failures=4 countlimit=131073"}}},
      {{{"sys/fs/aio-nr", "128\n"},
        {"sys/fs/aio-max-nr", "65536\n"},
        {"sys/fs/epoll/max_user_watches", "100\n"},
        {"sys/fs/inotify/max_user_watches", "200\n"},
        {"sys/fs/inotify/max_user_instances", "300\n"}},
       {{"aio_events", "count=128 countlimit=65536"}},
       {{"table_user_limit_objects{epoll_watches}", 100},
        {"table_user_limit_objects{inotify_watches}", 200},
        {"table_user_limit_objects{inotify_instances}", 300}},
       "of what the kernel does not count there is only the limit of each user"},
      {{{"sys/kernel/pty/nr", "1\n"}, {"sys/kernel/pty/max", "4096\n"}},
       {{"ptys", "count=1 countlimit=4095"}},
       {},
       "one is kept back"},
      {{{"sys/kernel/pty/nr", "7\n"}, {"sys/kernel/pty/max", "8\n"}}, {{"ptys", "count=7 countlimit=7"}}},
      {{{"sys/kernel/pty/nr", "7\n"}, {"sys/kernel/pty/max", "1\n"}}, {{"ptys", "count=7"}}, {}, "0 would be no limit"},
      {{{"sys/kernel/pty/nr", "7\n"}, {"sys/kernel/pty/max", "0\n"}}, {{"ptys", "count=7"}}},
  };
}

TEST_F(Tables, HaveTheFiguresAndStatisticsOfTheirFiles) {
  for (const TableCase& one : table_cases()) {
    SCOPED_TRACE(one.figures.begin()->first + ": " + one.files.begin()->second + one.why);
    files_.contents.clear();
    for (const auto& [path, content] : one.files) file(path) = content;
    for (const auto& [name, figures] : one.figures) EXPECT_EQ(files_.figures_of(name), figures) << name;
    EXPECT_EQ(statistics(), one.statistics);
    EXPECT_EQ(files_.staging().types().size(), one.figures.size());
  }
}

// The module comes while memstatd runs: its files are not there when the source opens.
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
  EXPECT_FALSE(files_.parse()) << "a limit is no table";
  file("sys/fs/aio-nr") = "1\n";
  EXPECT_TRUE(files_.parse());
  files_.has_end = false;
  EXPECT_FALSE(files_.parse());
}

using CapturedTables = CapturedSource<source>;

TEST_P(CapturedTables, HaveWhatTheKernelHad) {
  EXPECT_TRUE(has_unique_statistics(reader_.staging));
  const auto words = [&](std::string_view name) {
    const MemoryType* type = list_.find(Allocator::kTable, name);
    std::string text;
    for (const Field field : {Field::kCount, Field::kCountLimit, Field::kFailures}) {
      text += type == nullptr || !type->fields().has(field) ? "- " : std::to_string(type->figure(field)) + " ";
    }
    return text;
  };
  for (const char* name : {"files", "inodes", "dentries", "tcp_orphans", "tcp_time_wait"}) {
    EXPECT_NE(list_.find(Allocator::kTable, name), nullptr) << name;
  }
  if (GetParam().find("tables") == std::string::npos) return;
  EXPECT_EQ(list_.size(), 16U);
  EXPECT_EQ(words("conntrack"), "12 12 20 ");
  EXPECT_EQ(words("tcp_time_wait"), "3 3 3 ");
  EXPECT_EQ(words("aio_events"), "128 65536 - ");
  EXPECT_EQ(words("ptys"), "1 4095 - ");
  EXPECT_EQ(words("sysv_shm"), "3 4096 - ");
  EXPECT_EQ(words("sysv_sem"), "2 32000 - ");
  EXPECT_EQ(words("sysv_semaphores"), "10 1024000000 - ");
  EXPECT_EQ(list_.find(Allocator::kTable, "sysv_shm")->figure(Field::kBytes), (1U << 20U) + 5000 + 65536);
  EXPECT_EQ(list_.find(Allocator::kTable, "sysv_msg")->figure(Field::kBytes), 150U);
  EXPECT_EQ(list_.find(Allocator::kTable, "keys")->figure(Field::kBytes), 115U);
}

INSTANTIATE_TEST_SUITE_P(Captures, CapturedTables, shown_by("linux_table"), name_of_capture);

class LiveTables : public testing::Test {
 protected:
  void SetUp() override {
    auto view = make_live_kernel_view();
    if (!view || (*view)->os() != OperatingSystem::kLinux) GTEST_SKIP() << "this is not Linux";
    view_ = std::move(*view);
    whole_ = std::make_unique<WholePollsView>(*view_);
    if (const auto result = open_source(reader_, *view_); !result) GTEST_SKIP() << to_string(result.error());
  }
  /// One figure of a table now; nothing where this kernel has not the table.
  std::optional<std::uint64_t> now(std::string_view name, Field field = Field::kCount) {
    const auto result = refresh(reader_, *whole_, list_, ++generation_);
    EXPECT_TRUE(result) << to_string(result.error());
    const MemoryType* type = list_.find(Allocator::kTable, name);
    if (!result || type == nullptr || !type->fields().has(field)) return std::nullopt;
    return type->figure(field);
  }
  /// Whether a figure is once equal to what `other` says, before and after: others may change it between.
  bool is_equal(std::string_view name, Field field, const std::function<std::uint64_t()>& other) {
    for (int tries = 0; tries < 1000; ++tries) {
      const std::uint64_t before = other();
      const auto seen = now(name, field);
      if (seen && *seen == before && before == other()) return true;
    }
    return false;
  }

  std::unique_ptr<KernelView> view_;
  std::unique_ptr<WholePollsView> whole_;
  SourceReader reader_{source()};
  MemoryTypeList list_;
  std::uint64_t generation_ = 0;
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
  // More than once, because others make and drop keys too, and the first one makes a keyring as well.
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

TEST_F(LiveTables, AreCountedWithinFourReadsWhereProgramsSeldomMakeEntries) {
  if (!now("sysv_shm")) GTEST_SKIP() << "this kernel has no System V IPC";
  const int segment = shmget(IPC_PRIVATE, 12347, 0600);
  if (segment < 0) GTEST_SKIP() << "no shared memory: " << std::strerror(errno);
  const std::uint64_t before = list_.find(Allocator::kTable, "sysv_shm")->figure(Field::kBytes);
  int reads = 0;
  for (std::uint64_t bytes = before; bytes == before && reads < 5; ++reads) {
    ASSERT_TRUE(refresh(reader_, *view_, list_, ++generation_));
    bytes = list_.find(Allocator::kTable, "sysv_shm")->figure(Field::kBytes);
  }
  shmctl(segment, IPC_RMID, nullptr);
  EXPECT_LE(reads, 4);
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
