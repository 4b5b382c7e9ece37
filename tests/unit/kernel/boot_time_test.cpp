// SPDX-License-Identifier: BSD-2-Clause
#include "core/kernel/boot_time.h"

#include <ctime>

#include "tests/support/prepared_kernel_view.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

constexpr std::string_view kStat = "cpu  1 2 3\ncpu0 1 2 3\nintr 1 2 3\nctxt 4\nbtime 1700000000\nprocesses 5\n";

std::string timeval(std::int64_t seconds, std::int64_t microseconds) {
  std::string bytes(16, '\0');
  std::memcpy(bytes.data(), &seconds, 8);
  std::memcpy(bytes.data() + 8, &microseconds, 8);
  return bytes;
}

TEST(BootTime, IsTheLineBtimeOfProcStat) {
  EXPECT_EQ(parse_btime(kStat), 1'700'000'000'000'000'000);
  EXPECT_EQ(parse_btime("btime 1"), 1'000'000'000);
}

TEST(BootTime, ImpossibleValuesAreUnknown) {
  for (const char* text : {"", "btime", "btime \n", "btime x\n", "btime 0\n", "btime -5\n", "btime 1x\n", "xbtime 5\n",
                           "btime 9223372036854775807\n", "btime 99999999999999999999\n", "cpu 5\n"}) {
    EXPECT_FALSE(parse_btime(text)) << text;
  }
  EXPECT_FALSE(parse_boottime(timeval(0, 0)));
  EXPECT_FALSE(parse_boottime(timeval(-1, 0)));
  EXPECT_FALSE(parse_boottime(timeval(1, 1'000'000)));
  EXPECT_FALSE(parse_boottime(timeval(1, -1)));
  EXPECT_FALSE(parse_boottime(timeval(INT64_MAX, 0)));
}

TEST(BootTime, OfASysctlCutAnywhereIsNotKnown) {
  const std::string whole = timeval(1'700'000'000, 250'000);
  EXPECT_EQ(parse_boottime(whole), 1'700'000'000'250'000'000);
  for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(parse_boottime(whole.substr(0, size))) << size;
}

TEST(BootTime, IsReadFromTheKernelShown) {
  PreparedKernelView linux_view(OperatingSystem::kLinux);
  EXPECT_EQ(boot_time_ns(linux_view), 0) << "no /proc/stat";
  linux_view.contents["/proc/stat"] = {std::string(kStat)};
  EXPECT_EQ(boot_time_ns(linux_view), 1'700'000'000'000'000'000);
  const std::size_t reads = linux_view.reads_of("/proc/stat");
  keep_boot_time(linux_view);
  EXPECT_EQ(linux_view.reads_of("/proc/stat"), reads + 1) << "the sandbox lets no file be opened later";
  linux_view.failures["/proc/stat"] = EACCES;
  EXPECT_EQ(boot_time_ns(linux_view), 0);
  PreparedKernelView freebsd_view(OperatingSystem::kFreeBsd);
  EXPECT_EQ(boot_time_ns(freebsd_view), 0);
  freebsd_view.contents["kern.boottime"] = {timeval(5, 1)};
  EXPECT_EQ(boot_time_ns(freebsd_view), 5'000'001'000);
  PreparedKernelView other(OperatingSystem::kOther);
  EXPECT_EQ(boot_time_ns(other), 0);
}

}  // namespace
}  // namespace memstat
