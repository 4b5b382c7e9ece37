// SPDX-License-Identifier: BSD-2-Clause
// Bounded tables of FreeBSD's kernel from handwritten sysctls. Captures: tests/guests/checker.py.
#include "core/query.h"
#include "tests/support/staged_statistics.h"
#include "tests/support/sysctl_kernel.h"
#include "tests/support/test.h"

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
  return {
      {"vnodes", {{"kern.openfiles", 123}, {"kern.maxfiles", 70000}}, "none"},
      {"vnodes", {{"vfs.numvnodes", 1000, 8}, {"vfs.freevnodes", 1001, 8}}, "count 0 free 1001", "read a moment later"},
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
       {{"vm.stats.vm.v_user_wire_count", 10}, {"vm.max_user_wired", std::uint64_t{1} << 62U, 8}},
       "bytes 40960 count 10 countlimit 4611686018427387904 size 4096",
       "a limit that has no number of bytes"},
      {"files",
       {{"kern.openfiles", kMinusOne}, {"kern.maxfiles", kMinusOne}},
       "count 0",
       "-1 is neither a limit nor an amount"},
      {"processes", {{"vm.uma.PROC.stats.current", 33}, {"kern.maxproc", 1}}, "count 33"},
      {"socket_buffers", {{"kern.ipc.maxsockbuf", 0, 8}, {"kern.openfiles", 1}}, "none"},
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
  kernel_.set("kern.ipc.sfstat", std::string(23, 'x'));
  EXPECT_FALSE(refresh_it());
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

}  // namespace
}  // namespace memstat::freebsd_table_test
