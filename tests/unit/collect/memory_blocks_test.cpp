// SPDX-License-Identifier: BSD-2-Clause
// The node of an address on made-up machines.
#include "core/collect/memory_blocks.h"

#include "tests/support/fixtures.h"
#include "tests/support/rooted_kernel_view.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

constexpr std::uint64_t kBlock = 0x8000000;

std::string zone(int node, const std::string& name, std::uint64_t start, std::uint64_t spanned) {
  return "Node " + std::to_string(node) + ", zone " + name + "\n  pages free     1\n        spanned  " +
         std::to_string(spanned) + "\n        present  1\n  start_pfn:           " + std::to_string(start) + "\n";
}

class MemoryBlocks : public testing::Test {
 protected:
  void SetUp() override {
    if (!RootedKernelView::has_live_view()) GTEST_SKIP() << "there is no view of this system's kernel";
    view_.emplace(directory_.path());
  }
  void write(const std::string& path, const std::string& text) { write_text(directory_.file(path), text); }
  void block(std::uint64_t number, const std::vector<int>& nodes) {
    const std::string directory = "sys/devices/system/memory/memory" + std::to_string(number);
    char index[32];
    std::snprintf(index, sizeof index, "%08llx\n", static_cast<unsigned long long>(number));
    write(directory + "/phys_index", index);
    write(directory + "/state", "online\n");
    for (const int node : nodes) write(directory + "/node" + std::to_string(node) + "/x", "");
  }
  void blocks() { write("sys/devices/system/memory/block_size_bytes", "8000000\n"); }

  /// "node N block FIRST-LAST online", or the error.
  std::string where(std::uint64_t address) {
    code_ = ErrorCode::kUndefined;
    const auto found = find_memory_block(*view_, address);
    if (!found) {
      code_ = found.error().code;
      return to_string(found.error());
    }
    std::ostringstream text;
    text << "node " << found->node << (found->is_block ? " block " : " zone ") << std::hex << found->first << '-'
         << found->last << (found->is_online ? " online" : " offline");
    return text.str();
  }

  TemporaryDirectory directory_;
  std::optional<RootedKernelView> view_;
  ErrorCode code_ = ErrorCode::kUndefined;
};

TEST_F(MemoryBlocks, HaveTheNodeOfAnAddress) {
  blocks();
  block(0, {0});
  block(31, {0});
  block(32, {1});
  EXPECT_EQ(where(0), "node 0 block 0-7ffffff online");
  EXPECT_EQ(where(kBlock - 1), "node 0 block 0-7ffffff online");
  EXPECT_EQ(where(32 * kBlock - 1), "node 0 block f8000000-ffffffff online");
  EXPECT_EQ(where(32 * kBlock), "node 1 block 100000000-107ffffff online");
}

TEST_F(MemoryBlocks, HaveHolesAndAnEnd) {
  blocks();
  block(0, {0});
  block(4, {0});
  EXPECT_THAT(where(kBlock), HasSubstr("0x8000000 is not memory: no memory block is there"));
  EXPECT_EQ(code_, ErrorCode::kNotPresent);
  EXPECT_THAT(where(5 * kBlock), HasSubstr("beyond the last block, which ends at 0x27ffffff"));
  EXPECT_THAT(where(~std::uint64_t{0}), HasSubstr("beyond the last block"));
}

TEST_F(MemoryBlocks, ReachUpToTheHighestAddress) {
  blocks();
  block(~std::uint64_t{0} / kBlock, {2});
  EXPECT_EQ(where(~std::uint64_t{0}), "node 2 block fffffffff8000000-ffffffffffffffff online");
  EXPECT_THAT(where(0), HasSubstr("is not memory"));
}

TEST_F(MemoryBlocks, OfSeveralNodesAreDistinguishedByTheirZones) {
  blocks();
  block(1, {0, 1});
  write("proc/zoneinfo", zone(0, "Normal", 0, 0xC000) + zone(1, "Normal", 0xC000, 0x4000) + zone(2, "Normal", 0, 0x10000));
  EXPECT_EQ(where(kBlock), "node 0 block 8000000-fffffff online") << "node 2 has nothing in this block";
  EXPECT_EQ(where(0xC000000), "node 1 block 8000000-fffffff online");
  write("proc/zoneinfo", zone(0, "Normal", 0, 0x10000) + zone(1, "Normal", 0xC000, 0x4000));
  EXPECT_THAT(where(0xC000000), testing::AllOf(HasSubstr("nodes 0, 1 overlap"), HasSubstr("has memory of the nodes 0, 1")));
  EXPECT_EQ(code_, ErrorCode::kNotPresent);
}

TEST_F(MemoryBlocks, WithoutNodesAreOfTheNodeThatTheZonesName) {
  blocks();
  block(0, {});
  write("proc/zoneinfo", zone(0, "DMA", 1, 4095) + zone(0, "Normal", 4096, 100000));
  EXPECT_EQ(where(kBlock - 1), "node 0 block 0-7ffffff online") << "CONFIG_NUMA=n";
  write("proc/zoneinfo", "");
  EXPECT_THAT(where(kBlock - 1), HasSubstr("/proc/zoneinfo"));
}

TEST_F(MemoryBlocks, AreNotThereInEveryKernelButZonesAre) {
  write("proc/zoneinfo", zone(0, "DMA", 1, 4095) + zone(0, "Movable", 0, 0) + zone(1, "Normal", 4096, 4096));
  EXPECT_EQ(where(0x1000), "node 0 zone 1000-ffffff online");
  EXPECT_EQ(where(0x1000000), "node 1 zone 1000000-1ffffff online");
  EXPECT_THAT(where(0), HasSubstr("it lies in a hole"));
  EXPECT_THAT(where(0x2000000), HasSubstr("beyond the end of memory, 0x1ffffff"));
}

TEST_F(MemoryBlocks, WithNonsenseAreRefused) {
  for (const std::string size : {"", "0\n", "-1\n", "0x1000\n", "10000000000000000\n", "xyz\n"}) {
    write("sys/devices/system/memory/block_size_bytes", size);
    EXPECT_THAT(where(0), HasSubstr("block_size_bytes")) << size;
    EXPECT_EQ(code_, ErrorCode::kData) << size;
  }
  blocks();
  block(0, {0});
  write("sys/devices/system/memory/memory0/phys_index", "00000001\n");
  EXPECT_THAT(where(0), HasSubstr("memory0/phys_index"));
  block(1, {});
  for (const std::string& text :
       {zone(0, "A", 1, ~std::uint64_t{0}), zone(0, "A", ~std::uint64_t{0}, 1),
        std::string("Node 0, zone A\n spanned many\n"), std::string("Node 0, zone A\n spanned\n")}) {
    write("proc/zoneinfo", text);
    EXPECT_THAT(where(kBlock), HasSubstr("/proc/zoneinfo"));
    EXPECT_EQ(code_, ErrorCode::kData) << text;
  }
}

}  // namespace
}  // namespace memstat
