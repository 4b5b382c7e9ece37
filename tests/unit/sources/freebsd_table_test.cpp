// SPDX-License-Identifier: BSD-2-Clause
// Bounded tables of FreeBSD's kernel: from handwritten sysctls, compared with other figures in a capture that has them,
// and on this machine if it is FreeBSD.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <vector>

#include "core/query.h"
#include "tests/support/fixtures.h"
#include "tests/support/source_reading.h"
#include "tests/support/staged_statistics.h"
#include "tests/support/sysctl_kernel.h"

namespace memstat::freebsd_table_test {
namespace {

const SourceDescriptor& source() { return *find_source("freebsd_table"); }

class FreebsdTable : public testing::Test {
 protected:
  Result<void> refresh_it() {
    reader_.emplace(source());
    if (auto result = open_source(*reader_, kernel_); !result) return result;
    return refresh(*reader_, kernel_, list_, ++generation_);
  }
  /// All figures of a type by name, "none" without the type.
  std::string type(std::string_view name) {
    if (const auto result = refresh_it(); !result) return to_string(result.error());
    for (const StagedType& found : reader_->staging.types()) {
      if (found.name != name) continue;
      std::string text;
      for_each_of(found.fields, [&](Field field) {
        text += (text.empty() ? "" : " ") + std::string(to_string(field)) + " " + std::to_string(found.figures[field]);
      });
      return text;
    }
    return "none";
  }

  SysctlKernel kernel_;
  std::optional<SourceReader> reader_;
  MemoryTypeList list_;
  std::uint64_t generation_ = 0;
};

/// A kernel with these sysctls has this table.
struct TableCase {
  struct Sysctl {
    const char* name;
    std::uint64_t value;
    int bytes = 4;
  };
  const char* type;
  std::vector<Sysctl> sysctls;
  const char* figures;
  const char* why = "";
};

std::vector<TableCase> table_cases() {
  constexpr std::uint32_t kMinusOne = 0xFFFFFFFFU;
  const std::vector<TableCase::Sysctl> vnodes = {{"vfs.numvnodes", 1000, 8},
                                                 {"kern.maxvnodes", 2000},
                                                 {"vfs.vnodes_created", 5000, 8},
                                                 {"vfs.vnode.stats.alloc_sleeps", 3, 8}};
  const auto with = [](std::vector<TableCase::Sysctl> all, TableCase::Sysctl more) {
    all.push_back(more);
    return all;
  };
  return {
      {"files", {{"kern.openfiles", 123}, {"kern.maxfiles", 70000}}, "count 123 countlimit 69999"},
      {"vnodes", {{"kern.openfiles", 123}, {"kern.maxfiles", 70000}}, "none"},
      {"sockets", {{"kern.ipc.numopensockets", 9}, {"kern.ipc.maxsockets", 32110}}, "count 9 countlimit 32110"},
      {"vnodes", with(vnodes, {"vfs.freevnodes", 400, 8}), "count 600 free 400 numallocs 5000 sleeps 3 countlimit 2000"},
      {"vnodes", with(vnodes, {"vfs.freevnodes", 1001, 8}), "count 0 free 1001 numallocs 5000 sleeps 3 countlimit 2000",
       "read a moment later"},
      {"pipe_buffers",
       {{"kern.ipc.pipekva", 65536, 8}, {"kern.ipc.maxpipekva", 16437248, 8}, {"kern.ipc.pipeallocfail", 4}},
       "bytes 65536 failures 4 byteslimit 16437248"},
      {"buffer_space",
       {{"vfs.bufspace", 2200576, 8},
        {"vfs.maxbufspace", 116097024, 8},
        {"vfs.numbufallocfails", 5, 8},
        {"vfs.getnewbufcalls", 276, 8}},
       "bytes 2200576 numallocs 276 failures 5 byteslimit 116097024"},
      {"kernel_address_space", {{"vm.kvm_size", 1000000, 8}, {"vm.kvm_free", 900000, 8}}, "bytes 100000 byteslimit 1000000"},
      {"kernel_address_space",
       {{"vm.kvm_size", 1000000, 8}, {"kern.openfiles", 1}},
       "none",
       "its size does not indicate its use"},
      {"kmem",
       {{"vm.kmem_map_size", 111, 8}, {"vm.kmem_size", 1000, 8}},
       "bytes 111 byteslimit 1000",
       "the arena, where the kernel does not report what is in it"},
      {"kmem",
       {{"vm.kmem_map_size", 111, 8}, {"vm.kmem_size", 1000, 8}, {"vm.uma_kmem_total", 99, 8}},
       "bytes 111 byteslimit 1000",
       "a total without its limit"},
      {"kmem",
       {{"vm.kmem_map_size", 111, 8},
        {"vm.kmem_size", 1000, 8},
        {"vm.uma_kmem_total", 99, 8},
        {"vm.uma_kmem_limit", 900, 8}},
       "bytes 99 byteslimit 900"},
      {"user_wired",
       {{"vm.stats.vm.v_user_wire_count", 10}, {"vm.max_user_wired", 100, 8}},
       "bytes 40960 count 10 countlimit 100 byteslimit 409600 size 4096"},
      {"user_wired",
       {{"vm.stats.vm.v_user_wire_count", 10}, {"vm.max_user_wired", std::uint64_t{1} << 62U, 8}},
       "bytes 40960 count 10 countlimit 4611686018427387904 size 4096",
       "a limit that has no number of bytes"},
      {"files",
       {{"kern.openfiles", kMinusOne}, {"kern.maxfiles", kMinusOne}},
       "count 0",
       "-1 is neither a limit nor an amount"},
      {"buffer_headers", {{"kern.nbuf", 7470}, {"vfs.numfreebuffers", 7086}}, "count 384 free 7086 countlimit 7470"},
      {"processes", {{"vm.uma.PROC.stats.current", 33}, {"kern.maxproc", 6000}}, "count 33 countlimit 5998"},
      {"processes", {{"vm.uma.PROC.stats.current", 33}, {"kern.maxproc", 1}}, "count 33"},
      {"threads", {{"vm.uma.THREAD.stats.current", 120}, {"kern.maxthread", 9000}}, "count 120 countlimit 8999"},
      {"process_threads",
       {{"kern.threads.max_threads_per_proc", 1500}, {"kern.threads.max_threads_hits", 3}},
       "failures 3 countlimit 1500",
       "a limit of each process"},
      {"accept_queues", {{"kern.ipc.soacceptqueue", 128}}, "countlimit 128", "a limit of each listener"},
      {"socket_buffers", {{"kern.ipc.maxsockbuf", 2097152, 8}}, "byteslimit 2097152", "a limit of each socket"},
      {"socket_buffers", {{"kern.ipc.maxsockbuf", 0, 8}, {"kern.openfiles", 1}}, "none"},
      {"aio_jobs", {{"vfs.aio.num_queue_count", 2}, {"vfs.aio.max_aio_queue", 1024}}, "count 2 countlimit 1024"},
      {"inotify_watches", {{"vfs.inotify.watches", 3}, {"vfs.inotify.max_watches", 32643}}, "count 3 countlimit 32643"},
  };
}

TEST_F(FreebsdTable, HasTheFiguresOfItsSysctls) {
  for (const TableCase& one : table_cases()) {
    kernel_.sysctls.clear();
    for (const TableCase::Sysctl& sysctl : one.sysctls) {
      if (sysctl.bytes == 8) {
        kernel_.set_u64(sysctl.name, sysctl.value);
      } else {
        kernel_.set_u32(sysctl.name, static_cast<std::uint32_t>(sysctl.value));
      }
    }
    EXPECT_EQ(type(one.type), one.figures) << one.type << ' ' << one.why;
  }
}

TEST_F(FreebsdTable, HasSystemVIpcWithItsLimits) {
  kernel_.set("kern.ipc.shmsegs", std::string(192 * 104, '\0'));
  kernel_.set_u64("kern.ipc.shmmni", 192);
  kernel_.set_u64("kern.ipc.shmall", 131072);
  EXPECT_EQ(type("sysv_shm"), "bytes 0 count 0 countlimit 192 byteslimit 536870912");
  EXPECT_EQ(statistics_of(reader_->staging).at("sysv_shm_unattached_objects"), 0U);
  kernel_.set("kern.ipc.sema", std::string(50 * 80, '\0'));
  kernel_.set_u32("kern.ipc.semmni", 50);
  kernel_.set_u32("kern.ipc.semmns", 340);
  EXPECT_EQ(type("sysv_sem"), "count 0 countlimit 50");
  EXPECT_EQ(type("sysv_semaphores"), "count 0 countlimit 340");
  kernel_.set("kern.ipc.msqids", std::string(40 * 120, '\0'));
  kernel_.set_u32("kern.ipc.msgmni", 40);
  kernel_.set_u32("kern.ipc.msgtql", 40);
  EXPECT_EQ(type("sysv_msg"), "bytes 0 count 0 countlimit 40");
  EXPECT_EQ(type("sysv_messages"), "count 0 countlimit 40");
  kernel_.set("kern.ipc.shmsegs", std::string(192 * 104 - 1, '\0'));
  EXPECT_EQ(type("sysv_shm"), "none") << "another structure";
}

TEST_F(FreebsdTable, CountsWhatAFullBufferSpaceOfPipesDoes) {
  kernel_.set_u32("kern.openfiles", 1);
  kernel_.set_u32("kern.ipc.piperesizefail", 5);
  kernel_.set_u32("kern.ipc.pipefragretry", 6);
  ASSERT_TRUE(refresh_it());
  const auto found = statistics_of(reader_->staging);
  EXPECT_EQ(found.at("table_events_total{pipe_buffers,piperesizefail}"), 5U);
  EXPECT_EQ(found.at("table_events_total{pipe_buffers,pipefragretry}"), 6U);
}

TEST_F(FreebsdTable, HasSendfileBuffersWhereTheKernelHasThem) {
  kernel_.set_u32("kern.openfiles", 1);
  kernel_.set("kern.ipc.sfstat", std::string(88, '\0'));
  EXPECT_EQ(type("sf_bufs"), "none") << "a kernel that maps all memory needs none";
  kernel_.set_u32("kern.ipc.nsfbufsused", 7);
  kernel_.set_u32("kern.ipc.nsfbufs", 1024);
  EXPECT_EQ(type("sf_bufs"), "count 7 failures 0 sleeps 0 countlimit 1024");
}

TEST_F(FreebsdTable, TakesSendfilesCountersByTheirPlaceInTheStructureOfThatSize) {
  kernel_.set_u32("kern.ipc.nsfbufsused", 7);
  const auto set_counters = [this](std::uint64_t count) {
    std::string counters;
    for (std::uint64_t i = 1; i <= count; ++i) counters += SysctlKernel::bytes_of(i);
    kernel_.set("kern.ipc.sfstat", counters);
  };
  set_counters(3);
  EXPECT_EQ(type("sf_bufs"), "count 7 failures 2 sleeps 3") << "FreeBSD 10";
  set_counters(10);
  EXPECT_EQ(type("sf_bufs"), "count 7 failures 9 sleeps 10") << "FreeBSD 11";
  set_counters(11);
  EXPECT_EQ(type("sf_bufs"), "count 7 failures 9 sleeps 10") << "FreeBSD 13 to 15 end with another one";
  for (const std::uint64_t unknown : {1U, 2U, 4U, 9U, 12U}) {
    set_counters(unknown);
    EXPECT_EQ(type("sf_bufs"), "count 7") << unknown;
  }
  for (const std::size_t size : {0U, 1U, 23U, 25U, 87U}) {
    kernel_.set("kern.ipc.sfstat", std::string(size, 'x'));
    EXPECT_FALSE(refresh_it()) << size;
  }
}

TEST_F(FreebsdTable, IsFullWhereTheKernelRefusesAndReportsWhereItRefusesUsers) {
  kernel_.set_u32("kern.openfiles", 2999);
  kernel_.set_u32("kern.maxfiles", 3000);
  kernel_.set_u32("vm.uma.PROC.stats.current", 5998);
  kernel_.set_u32("kern.maxproc", 6000);
  kernel_.set_u32("vm.uma.THREAD.stats.current", 8999);
  kernel_.set_u32("kern.maxthread", 9000);
  EXPECT_EQ(type("files"), "count 2999 countlimit 2999");
  EXPECT_EQ(type("processes"), "count 5998 countlimit 5998");
  EXPECT_EQ(type("threads"), "count 8999 countlimit 8999");
  const auto statistics = statistics_of(reader_->staging);
  EXPECT_EQ(statistics.at("table_soft_limit_objects{files}"), 2849U);
  EXPECT_EQ(statistics.at("table_soft_limit_objects{processes}"), 5988U);
  EXPECT_EQ(statistics.at("table_soft_limit_objects{threads}"), 8899U);
}

TEST_F(FreebsdTable, TakesTheSwapForALimitOnlyWhereReservationsBeyondItFail) {
  kernel_.set_u64("vm.swap_reserved", 500);
  kernel_.set_u64("vm.swap_total", 1000);
  EXPECT_EQ(type("swap_reservations"), "bytes 500");
  for (const auto& [overcommit, is_limit] : {std::pair(0U, false), {1U, true}, {2U, false}, {3U, true}, {5U, false}}) {
    kernel_.set_u32("vm.overcommit", overcommit);
    EXPECT_EQ(type("swap_reservations"), is_limit ? "bytes 500 byteslimit 1000" : "bytes 500") << overcommit;
  }
}

TEST_F(FreebsdTable, ReadsNoSysctlOfOlderKernelsWhereTheKernelIsNewer) {
  for (const char* name : {"vm.kmem_map_size", "vm.kmem_size", "vm.uma_kmem_total"}) kernel_.set_u64(name, 1);
  ASSERT_TRUE(refresh_it());
  EXPECT_TRUE(kernel_.reads.contains("vm.kmem_map_size"));
  kernel_.set_u64("vm.uma_kmem_limit", 1);
  ASSERT_TRUE(refresh_it());
  kernel_.reads.clear();
  ASSERT_TRUE(refresh(*reader_, kernel_, list_, ++generation_));
  EXPECT_FALSE(kernel_.reads.contains("vm.kmem_map_size"));
  EXPECT_FALSE(kernel_.reads.contains("vm.kmem_size"));
}

TEST_F(FreebsdTable, IsNotPresentWithoutAnyOfItsSysctls) {
  EXPECT_EQ(refresh_it().error().code, ErrorCode::kNotPresent);
  kernel_.set_u32("kern.maxfiles", 1);
  const auto result = refresh_it();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kData) << "a limit of nothing";
}

/// A figure of a table, 0 where it has none.
std::uint64_t figure(const Staging& staging, std::string_view name, Field field) {
  for (const StagedType& type : staging.types()) {
    if (type.name == name) return type.figures[field];
  }
  ADD_FAILURE() << name;
  return 0;
}

// Sockets, processes and vnodes have their own uma zones, which the kernel counts elsewhere; malloc(9)
// counts no files, but every open one is an item of "Files".
void expect_the_zones_to_agree(const Staging& tables, KernelView& view, std::uint64_t slack) {
  SourceReader zones(*find_source("freebsd_uma"));
  MemoryTypeList list;
  ASSERT_TRUE(refresh(zones, view, list, 1));
  Buffer bytes;
  ASSERT_TRUE(view.read_sysctl("vfs.freevnodes", bytes, 8));
  std::uint64_t free_vnodes = 0;
  std::memcpy(&free_vnodes, bytes.data(), std::min(bytes.size(), sizeof free_vnodes));
  for (const auto& [table, zone, more] :
       {std::tuple("files", "Files", std::uint64_t{0}), std::tuple("sockets", "socket", std::uint64_t{0}),
        std::tuple("processes", "PROC", std::uint64_t{0}), std::tuple("vnodes", "VNODE", free_vnodes)}) {
    EXPECT_NEAR(static_cast<double>(figure(tables, table, Field::kCount) + more),
                static_cast<double>(figure(zones.staging, zone, Field::kCount)), static_cast<double>(slack))
        << table;
  }
}

TEST(FreebsdTableCaptures, AgreeWithTheZonesOfTheSameObjects) {
  for (const std::string& capture : captures_of_source("freebsd_table")) {
    const auto view = open_fixture(capture);
    for (std::size_t poll = 0; poll < view->poll_count(); ++poll) {
      SCOPED_TRACE(capture + "@" + std::to_string(poll));
      ASSERT_TRUE(view->select_poll(poll));
      SourceReader reader(source());
      MemoryTypeList list;
      ASSERT_TRUE(refresh(reader, *view, list, 1));
      expect_the_zones_to_agree(reader.staging, *view, 8);
      EXPECT_GE(figure(reader.staging, "sockets", Field::kCountLimit), figure(reader.staging, "sockets", Field::kCount));
      EXPECT_GT(figure(reader.staging, "kmem", Field::kBytes), 0U);
      EXPECT_LE(figure(reader.staging, "kmem", Field::kBytes), figure(reader.staging, "kmem", Field::kBytesLimit));
    }
  }
}

TEST(FreebsdTableCaptures, HaveTheSocketsThatSomebodyExhausted) {
  const auto view = open_fixture("freebsd-15.0-amd64-2cpu-limits.tar.zst");
  ASSERT_TRUE(view->select_poll(1));
  SourceReader reader(source());
  MemoryTypeList list;
  ASSERT_TRUE(refresh(reader, *view, list, 1));
  EXPECT_EQ(figure(reader.staging, "sockets", Field::kCount), 32110U);
  EXPECT_EQ(figure(reader.staging, "sockets", Field::kCountLimit), 32110U);
}

using FreebsdTableLive = LiveSource<source>;

TEST_F(FreebsdTableLive, CountsTheFilesThatThisTestOpens) {
  ASSERT_TRUE(refreshes());
  const std::uint64_t before = figure(reader_.staging, "files", Field::kCount);
  std::vector<int> files;
  for (int i = 0; i < 200; ++i) {
    const int file = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (file >= 0) files.push_back(file);
  }
  ASSERT_TRUE(refreshes());
  const std::uint64_t after = figure(reader_.staging, "files", Field::kCount);
  for (const int file : files) ::close(file);
  EXPECT_GT(after + 100, before + files.size()) << "others may close some meanwhile";
  expect_the_zones_to_agree(reader_.staging, *view_, 500);
}

}  // namespace
}  // namespace memstat::freebsd_table_test
