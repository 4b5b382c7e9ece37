// SPDX-License-Identifier: BSD-2-Clause
// Figures by NUMA node, the node of an address, the memory of a process, and amounts as text: the parts of the C API other
// than memory types.
#include "tests/support/c_list.h"
#include "tests/support/fixtures.h"
#include "tests/support/staging_builder.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

constexpr std::uint64_t (*kNodeAccessors[])(const memory_type*, int) = {
    memstat_get_pernode_held_bytes, memstat_get_pernode_count, memstat_get_pernode_free, memstat_get_pernode_slots};

TEST(CApiNodes, HaveEachFigureSeparatelyAndNoneOutOfRange) {
  StagingBuilder staging;
  staging.nodes(kEveryNodeField, 2);
  staging.type("all")
      .node(NodeField::kHeldBytes, {1, 11})
      .node(NodeField::kCount, {2, 12})
      .node(NodeField::kFree, {3, 13})
      .node(NodeField::kTotalObjects, {4, 14});
  memory_type_list list;
  ASSERT_TRUE(list.types().commit(roster_of(Allocator::kSlab), staging.staging(), 1));
  const memory_type* type = memstat_mtl_first(&list);
  std::uint64_t wanted = 1;
  for (const auto get : kNodeAccessors) {
    EXPECT_EQ(get(type, 0), wanted);
    EXPECT_EQ(get(type, 1), wanted + 10);
    ++wanted;
    for (const int node : {-1, 2, 1024, INT32_MAX, INT32_MIN}) EXPECT_EQ(get(type, node), 0U) << node;
    EXPECT_EQ(get(nullptr, 0), 0U);
  }
  EXPECT_EQ(memstat_get_node_figures(type), 15U);
  EXPECT_EQ(memstat_get_node_count(type), 2);
  EXPECT_EQ(memstat_get_node_count(nullptr), 0);
  EXPECT_EQ(memstat_get_node_figures(nullptr), 0U);
}

ListPtr processes() {
  auto kernel = std::make_shared<FakeKernelView>(OperatingSystem::kLinux);
  kernel->set("/proc/7/statm", "100 20 10 5 0 7 0\n");
  kernel->set("/proc/7/comm", "worker\n");
  kernel->set("/proc/self/statm", "1 1 1 1 0 1 0\n");
  kernel->set("/proc/self/comm", "me\n");
  kernel->set("/proc/8/statm", "nonsense\n");
  kernel->set("/proc/8/comm", "x\n");
  kernel->set("/proc/9/statm", "0 0 0 0 0 0 0\n");
  kernel->set("/proc/9/comm", std::string(100, 'k') + "\n");
  kernel->fail("/proc/10/statm", ESRCH);
  kernel->fail("/proc/11/statm", EACCES);
  kernel->set("/proc/12/statm", "1 1 1 1 0 1 0\n");
  return make_list(kernel);
}

TEST(CApiProcess, IsItsMemoryInBytesAndItsName) {
  const ListPtr list = processes();
  memstat_process process;
  ASSERT_EQ(memstat_get_process(list.get(), 7, &process), 0) << memstat_mtl_get_message(list.get());
  EXPECT_EQ(process.size, 409600U);
  EXPECT_EQ(process.resident, 81920U);
  EXPECT_EQ(process.shared, 40960U);
  EXPECT_EQ(process.text, 20480U);
  EXPECT_EQ(process.data, 28672U);
  EXPECT_STREQ(process.name, "worker");
  ASSERT_EQ(memstat_get_process(list.get(), 0, &process), 0);
  EXPECT_STREQ(process.name, "me");
  ASSERT_EQ(memstat_get_process(list.get(), 9, &process), 0);
  EXPECT_EQ(std::string(process.name), std::string(63, 'k'));
  EXPECT_EQ(memstat_mtl_get_count(list.get()), 0U);
}

TEST(CApiProcess, ThatIsMissingIsReported) {
  const ListPtr list = processes();
  memstat_process process;
  for (const auto& [pid, error] : {std::pair{1, MEMSTAT_ERROR_NOTPRESENT}, std::pair{10, MEMSTAT_ERROR_NOTPRESENT},
                                   std::pair{12, MEMSTAT_ERROR_NOTPRESENT}, std::pair{-1, MEMSTAT_ERROR_NOTPRESENT},
                                   std::pair{INT32_MIN, MEMSTAT_ERROR_NOTPRESENT}, std::pair{8, MEMSTAT_ERROR_DATAERROR},
                                   std::pair{11, MEMSTAT_ERROR_PERMISSION}}) {
    EXPECT_EQ(memstat_get_process(list.get(), pid, &process), -1) << pid;
    EXPECT_EQ(memstat_mtl_geterror(list.get()), error) << pid;
    EXPECT_STRNE(memstat_mtl_get_message(list.get()), "");
  }
  EXPECT_EQ(memstat_get_process(list.get(), 7, nullptr), -1);
  errno = 0;
  EXPECT_EQ(memstat_get_process(nullptr, 7, &process), -1);
  EXPECT_EQ(errno, EINVAL);
}

TEST(CApiMemoryBlock, IsFoundOrReportsWhyNot) {
  auto kernel = std::make_shared<FakeKernelView>(OperatingSystem::kLinux);
  kernel->set("/proc/zoneinfo", "Node 1, zone Normal\n spanned 16\n start_pfn: 16\n");
  const ListPtr list = make_list(kernel);
  memstat_memory_block block;
  ASSERT_EQ(memstat_find_memory_block(list.get(), 0x10000, &block), 0) << memstat_mtl_get_message(list.get());
  EXPECT_EQ(block.node, 1);
  EXPECT_EQ(block.is_online, 1);
  EXPECT_EQ(block.is_block, 0);
  EXPECT_EQ(block.first, 0x10000U);
  EXPECT_EQ(block.last, 0x1FFFFU);
  EXPECT_EQ(memstat_find_memory_block(list.get(), 0x20000, &block), -1);
  EXPECT_EQ(memstat_mtl_geterror(list.get()), MEMSTAT_ERROR_NOTPRESENT);
  EXPECT_NE(std::string(memstat_mtl_get_message(list.get())).find("is not memory"), std::string::npos);
  kernel->fail("/proc/zoneinfo", EACCES);
  EXPECT_EQ(memstat_find_memory_block(list.get(), 0x10000, &block), -1);
  EXPECT_EQ(memstat_mtl_geterror(list.get()), MEMSTAT_ERROR_PERMISSION);
  EXPECT_EQ(memstat_find_memory_block(list.get(), 0x10000, nullptr), -1);
  EXPECT_EQ(memstat_find_memory_block(nullptr, 0x10000, &block), -1);
}

TEST(CApiKernel, IsThatOfTheCaptureWithTheMemoryOfItsPoll) {
  const ListPtr list = make_list();
  const std::string limits = fixture_path("captures/freebsd-15.0-amd64-2cpu-limits.tar.zst");
  ASSERT_EQ(memstat_mtl_set_capture(list.get(), (limits + "@0").c_str()), 0) << memstat_mtl_get_message(list.get());
  memstat_kernel kernel;
  ASSERT_EQ(memstat_get_kernel(list.get(), &kernel), 0);
  EXPECT_STREQ(kernel.os, "freebsd");
  EXPECT_STREQ(kernel.release, "15.0-RELEASE");
  EXPECT_STREQ(kernel.machine, "amd64");
  EXPECT_STREQ(kernel.host, "");
  EXPECT_EQ(kernel.is_capture, 1);
  EXPECT_EQ(kernel.time_ns, 1795186800000000000);
  memstat_memory memory;
  ASSERT_EQ(memstat_get_memory(list.get(), &memory), 0) << memstat_mtl_get_message(list.get());
  EXPECT_EQ(memstat_mtl_get_count(list.get()), 0U) << "the list is as it was";
  // From memstatd's /api/v1/memory for this poll.
  EXPECT_EQ(memory.total, 1028919296U);
  EXPECT_EQ(memory.free, 907317248U);
  EXPECT_EQ(memory.available, 931360768U);
  EXPECT_EQ(memory.unaccounted, 909312);
  EXPECT_EQ(memstat_get_kernel(list.get(), nullptr), -1);
  EXPECT_EQ(memstat_get_memory(list.get(), nullptr), -1);
  EXPECT_EQ(memstat_get_memory(nullptr, &memory), -1);
}

TEST(CApiText, IsWrittenAsSnprintfDoes) {
  std::array<char, 32> text;
  text.fill('#');
  EXPECT_EQ(memstat_bytes_to_string(102400, text.data(), text.size()), 5U);
  EXPECT_STREQ(text.data(), " 100K");
  EXPECT_EQ(memstat_bytes_to_string(1023, text.data(), 3), 5U);
  EXPECT_STREQ(text.data(), " 1");
  text.fill('#');
  EXPECT_EQ(memstat_bytes_to_string(1023, text.data(), 0), 5U);
  EXPECT_EQ(text[0], '#');
  EXPECT_EQ(memstat_bytes_to_string(1023, nullptr, 9), 5U);
  EXPECT_EQ(memstat_process_to_string(nullptr, text.data(), text.size()), 0U);
  EXPECT_STREQ(text.data(), "");
}

}  // namespace
}  // namespace memstat
