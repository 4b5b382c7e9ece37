// SPDX-License-Identifier: BSD-2-Clause
// Swap devices and free blocks, from sysctls made by hand.
#include "core/query.h"
#include "tests/support/source_reading.h"
#include "tests/support/staged_statistics.h"
#include "tests/support/sysctl_kernel.h"
#include "tests/support/test.h"

namespace memstat::freebsd_memory_test {
namespace {

const SourceDescriptor& source() { return *find_source("freebsd_memory"); }

class FreeBsdMemory : public testing::Test {
 protected:
  FreeBsdMemory() {
    kernel_.set("vm.phys_free", "DOMAIN 0:\nFREE LIST 1:\n  2 (16K) | 0 | 0\n  1 (8K) | 2 | 1\n  0 (4K) | 9 | 0\n");
    kernel_.set_u32("vm.nswapdev", 0);
  }
  /// A struct xswdev of 12.0 and later.
  static std::string device(std::int32_t blocks, std::int32_t used) {
    return SysctlKernel::bytes_of(std::uint32_t{2}) + std::string(16, '\7') + SysctlKernel::bytes_of(blocks) +
           SysctlKernel::bytes_of(used) + std::string(4, '\0');
  }
  std::map<std::string, std::uint64_t> read() {
    const auto refreshed = refresh(reader_, kernel_, list_, 1);
    EXPECT_TRUE(refreshed) << to_string(refreshed.error());
    return statistics_of(reader_.staging);
  }

  SysctlKernel kernel_;
  SourceReader reader_{source()};
  MemoryTypeList list_;
};

TEST_F(FreeBsdMemory, AddsSwapDevicesUp) {
  EXPECT_EQ(read().at("swap_total_bytes"), 0U) << "no device is no swap";
  kernel_.set_u32("vm.nswapdev", 2);
  kernel_.set("vm.swap_info.0", device(1000, 10));
  kernel_.set("vm.swap_info.1", device(500, 501));
  auto found = read();
  EXPECT_EQ(found.at("swap_total_bytes"), 1500U * 4096);
  EXPECT_EQ(found.at("swap_free_bytes"), 990U * 4096);
  EXPECT_EQ(found.at("swap_device_bytes{1}"), 500U * 4096);
  EXPECT_EQ(found.at("swap_device_used_bytes{0}"), 10U * 4096);
  kernel_.sysctls.erase("vm.swap_info.1");
  EXPECT_EQ(read().at("swap_total_bytes"), 1000U * 4096) << "removed while it was read";
  kernel_.set("vm.swap_info.1", std::string(36, '\1'));
  found = read();
  EXPECT_FALSE(found.contains("swap_total_bytes")) << "a device of unknown size";
  EXPECT_TRUE(found.contains("swap_device_bytes{0}"));
}

TEST_F(FreeBsdMemory, ReadsEachSysctlOnceUntilADeviceComesOrGoes) {
  read();
  kernel_.reads.clear();
  read();
  for (const auto& [name, count] : kernel_.reads) EXPECT_EQ(count, 1) << name;
  kernel_.set_u32("vm.nswapdev", 1);
  kernel_.set("vm.swap_info.0", device(1000, 10));
  EXPECT_EQ(read().at("swap_device_bytes{0}"), 1000U * 4096);
  kernel_.reads.clear();
  read();
  for (const auto& [name, count] : kernel_.reads) EXPECT_EQ(count, 1) << name;
  kernel_.set_u32("vm.nswapdev", 0);
  kernel_.sysctls.erase("vm.swap_info.0");
  EXPECT_EQ(read().at("swap_total_bytes"), 0U);
}

TEST_F(FreeBsdMemory, KnowsTheStructuresOfOtherKernels) {
  kernel_.set_u32("vm.nswapdev", 2);
  kernel_.set("vm.swap_info.0", device(0, 0).substr(0, 12) + device(7, 2).substr(20, 8));
  kernel_.set("vm.swap_info.1", device(0, 0).substr(0, 16) + device(9, 4).substr(20, 8));
  const auto found = read();
  EXPECT_EQ(found.at("swap_device_bytes{0}"), 7U * 4096) << "before 12.0";
  EXPECT_EQ(found.at("swap_device_used_bytes{1}"), 4U * 4096) << "i386";
}

}  // namespace
}  // namespace memstat::freebsd_memory_test
