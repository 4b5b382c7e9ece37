// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/freebsd_tables.h"
#include "tests/support/process_kernel.h"

namespace memstat::inspections::freebsd_segments {
namespace {

constexpr std::string_view kName = "kern.ipc.shmsegs";
const Inspection& question() { return *find_inspection("segments", OperatingSystem::kFreeBsd); }

/// struct shmid_kernel
std::string segment(std::uint16_t mode, std::uint64_t size, std::uint32_t attached) {
  return BytesOfStructure(104)
      .put<std::uint32_t>(8, 1001)
      .put(16, mode)
      .put<std::uint16_t>(18, 2)
      .put(32, size)
      .put<std::uint32_t>(44, 812)
      .put(48, attached)
      .bytes();
}
constexpr std::uint16_t kAllocated = 0x800;

TEST(WhoSegmentsOnFreeBsd, OnlyUnattachedOnesCount) {
  SysctlKernel kernel;
  kernel.set(kName,
             segment(0, 9, 0) + segment(kAllocated, 4096, 0) + segment(kAllocated, 8192, 3) + segment(kAllocated, ~0ULL, 0));
  const auto answer = inspect(kernel, question()).value();
  EXPECT_EQ(holders_text(answer), "segment 131075 of pid 812 0 18446744073709551615B; segment 131073 of pid 812 0 4096B");
  EXPECT_EQ(answer.holders[0].user, "1001");
}

TEST(WhoSegmentsOnFreeBsd, AnUnknownArrayIsRejectedAndOneWithoutSegmentsIsEmpty) {
  SysctlKernel kernel;
  kernel.set(kName, segment(kAllocated, 4096, 0).substr(0, 103));
  EXPECT_EQ(inspect(kernel, question()).error().code, ErrorCode::kData);
  kernel.set(kName, "");
  EXPECT_EQ(holders_text(inspect(kernel, question()).value()), "");
  EXPECT_TRUE(question().reads_polled_files);
}

}  // namespace
}  // namespace memstat::inspections::freebsd_segments
