// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/process_kernel.h"

namespace memstat::inspections::segments {
namespace {

constexpr std::string_view kPath = "/proc/sysvipc/shm";
constexpr std::string_view kNames =
    "       key      shmid perms                  size  cpid  lpid nattch   uid   gid  cuid  cgid      atime      dtime     "
    " "
    "ctime                   rss                  swap\n";

std::string segment(int id, const std::string& size, int attached, const std::string& resident, const std::string& swapped) {
  return "0 " + std::to_string(id) + " 600 " + size + " 77 78 " + std::to_string(attached) + " 1000 0 0 0 1 1 1 " +
         resident + " " + swapped + "\n";
}

TEST(WhoSegments, OnlyUnattachedOnesCountWithTheirResidentAndSwappedBytes) {
  ProcessKernel kernel;
  kernel.files[std::string(kPath)] = std::string(kNames) + segment(1, "9000", 0, "4096", "8192") +
                                     segment(2, "9000000", 3, "8192", "0") + segment(3, "9000", 0, "16384", "0");
  const InspectionAnswer answer = answer_of(kernel, "segments");
  EXPECT_EQ(holders_text(answer), "segment 3 of pid 77 0 16384B; segment 1 of pid 77 0 12288B");
  EXPECT_EQ(answer.holders[0].user, "1000");
}

TEST(WhoSegments, AKernelWithoutResidentSizesGivesTheSize) {
  ProcessKernel kernel;
  kernel.files[std::string(kPath)] = "key shmid perms size cpid lpid nattch uid\n0 5 600 4096 7 8 0 33\n0 6\n";
  EXPECT_EQ(holders_text(answer_of(kernel, "segments")), "segment 5 of pid 7 0 4096B");
}

TEST(WhoSegments, HugeNumbersAreNotAdded) {
  ProcessKernel kernel;
  kernel.files[std::string(kPath)] = std::string(kNames) + segment(1, "1", 0, "18446744073709551615", "1");
  EXPECT_EQ(holders_text(answer_of(kernel, "segments")), "segment 1 of pid 77 0");
}

TEST(WhoSegments, AnyRecordingHasThem) {
  ProcessKernel kernel;
  kernel.files[std::string(kPath)] = "no names\n";
  EXPECT_FALSE(inspect(kernel, *find_inspection("segments")));
  EXPECT_TRUE(find_inspection("segments")->reads_polled_files);
}

}  // namespace
}  // namespace memstat::inspections::segments
