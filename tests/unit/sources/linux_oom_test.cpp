// SPDX-License-Identifier: BSD-2-Clause
// Kills and stalls from handwritten text, and from this machine's kernel, which is made to kill one of our own processes.
// Captured and live kernels: tests/guests/checker.py.
#include <unistd.h>

#include "core/query.h"
#include "tests/support/fixtures.h"
#include "tests/support/live_group.h"
#include "tests/support/prepared_kernel_view.h"
#include "tests/support/result_checks.h"
#include "tests/support/source_reading.h"
#include "tests/support/staged_statistics.h"
#include "tests/support/stream_builder.h"
#include "tests/support/test.h"

namespace memstat::linux_oom_test {
namespace {

constexpr const char* kCountersFile = "/proc/vmstat";
constexpr const char* kPressureFile = "/proc/pressure/memory";

const SourceDescriptor& source() { return *find_source("linux_oom"); }

class LinuxOom : public testing::Test {
 protected:
  Result<void> parse(std::string_view counters, std::string_view pressure = {}) {
    RawBytes raw;
    raw.parts[0].assign(counters);
    raw.parts[1].assign(pressure);
    return parse_bytes(source(), raw, staging_);
  }
  /// "statistic{labels}=value" of all, ordered by name.
  std::string words(std::string_view counters, std::string_view pressure = {}) {
    if (const auto result = parse(counters, pressure); !result) return to_string(result.error());
    EXPECT_TRUE(has_unique_statistics(staging_));
    EXPECT_TRUE(staging_.types().empty());
    std::ostringstream words;
    for (const auto& [key, bits] : statistics_of(staging_)) {
      if (words.tellp() > 0) words << ' ';
      words << key << '=';
      if (key.starts_with("pressure_")) {
        words << std::bit_cast<double>(bits);
      } else {
        words << bits;
      }
    }
    return words.str();
  }
  void expect_refused(std::string_view counters, std::string_view pressure, const char* path, std::uint64_t offset) {
    const auto result = parse(counters, pressure);
    ASSERT_TRUE(fails(result, {.code = ErrorCode::kData, .path = path, .offset = offset})) << counters << pressure;
    EXPECT_FALSE(result.error().detail.empty());
  }

  Staging staging_;
};

TEST_F(LinuxOom, HasKillsStallsAndReclaim) {
  EXPECT_EQ(
      words("nr_free_pages 5\nallocstall_dma32 1\nallocstall_normal 2\nallocstall_movable 3\npgsteal_kswapd "
            "4\npgsteal_direct 5\n"
            "pgscan_kswapd 6\npgscan_direct 7\npgscan_direct_throttle 8\nzone_reclaim_success 77\nzone_reclaim_failed 9\n"
            "drop_pagecache 10\ndrop_slab 11\noom_kill 12\n",
            "some avg10=0.00 avg60=1.50 avg300=0.00 total=2500000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1\n"),
      "allocation_stalls_total{DMA32}=1 allocation_stalls_total{Movable}=3 allocation_stalls_total{Normal}=2 "
      "cache_drops_total{pagecache}=10 "
      "cache_drops_total{slab}=11 node_reclaim_failures_total=9 oom_kills_total=12 pressure_stall_seconds_total{full}=1e-06 "
      "pressure_stall_seconds_total{some}=2.5 reclaim_scanned_pages_total{direct}=7 reclaim_scanned_pages_total{kswapd}=6 "
      "reclaim_throttles_total=8 reclaimed_pages_total{direct}=5 reclaimed_pages_total{kswapd}=4");
}

TEST_F(LinuxOom, HasReclaimedAndRefaultedPages) {
  EXPECT_EQ(words("workingset_refault_anon 1\nworkingset_refault_file 2\nnr_throttled_written 3\npswpin 4\npswpout 5\n"
                  "pgscan_anon 6\npgscan_file 7\npgsteal_anon 8\npgsteal_file 9\nzswpin 10\nzswpout 11\nzswpwb 12\n"),
            "lru_reclaimed_pages_total{anon}=8 lru_reclaimed_pages_total{file}=9 lru_scanned_pages_total{anon}=6 "
            "lru_scanned_pages_total{file}=7 paged_pages_total{swap,in}=4 paged_pages_total{swap,out}=5 "
            "refaulted_pages_total{anon}=1 refaulted_pages_total{file}=2 throttled_written_pages_total=3 "
            "zswap_pages_total{in}=10 zswap_pages_total{out}=11 zswap_pages_total{writeback}=12");
}

TEST_F(LinuxOom, HasTheTimeLostToInputAndOutput) {
  RawBytes raw;
  raw.parts[0].assign("oom_kill 2\n");
  raw.parts[2].assign("some avg10=0.00 total=1500000\nfull avg10=0.00 total=500000\n");
  ASSERT_TRUE(parse_bytes(source(), raw, staging_));
  auto found = statistics_of(staging_);
  EXPECT_EQ(std::bit_cast<double>(found["io_pressure_stall_seconds_total{some}"]), 1.5);
  EXPECT_EQ(std::bit_cast<double>(found["io_pressure_stall_seconds_total{full}"]), 0.5);
  EXPECT_FALSE(found.contains("pressure_stall_seconds_total{some}"));
  raw.parts[2].assign("some avg10=0.00 total=1");
  EXPECT_TRUE(fails(parse_bytes(source(), raw, staging_), {.path = "/proc/pressure/io"}));
}

TEST_F(LinuxOom, LeavesOutWhatAKernelDoesNotCount) {
  EXPECT_EQ(words("allocstall_normal 2\n"), "allocation_stalls_total{Normal}=2")
      << "oom_kill exists since 4.13, zone_reclaim with NUMA";
  EXPECT_EQ(words("oom_kill 2\n", "\n"), "oom_kills_total=2");
  EXPECT_EQ(words("oom_kill 2\n", "some avg10=0.00 total=3000000\n"),
            "oom_kills_total=2 pressure_stall_seconds_total{some}=3");
  EXPECT_EQ(words("oom_kill 2\n", "irq total=3\nmost total=x\n"), "oom_kills_total=2") << "kinds that are yet to come";
}

TEST_F(LinuxOom, CountsOnlyTheFirstOfTwoLines) {
  EXPECT_EQ(
      words("oom_kill 1\noom_kill 2\nallocstall_dma 3\nallocstall_dma 4\n", "some total=1000000\nsome total=5000000\n"),
      "allocation_stalls_total{DMA}=3 oom_kills_total=1 pressure_stall_seconds_total{some}=1");
}

TEST_F(LinuxOom, SaysWhatIsWrongWhere) {
  expect_refused("", "", kCountersFile, 0);
  expect_refused("nr_free_pages 5\n", "", kCountersFile, 16);
  for (const char* number : {"", "x", "-1", "18446744073709551616", "1 2", "1.5"}) {
    for (const std::string key : {"oom_kill", "allocstall_normal", "pgscan_direct"}) {
      expect_refused("drop_slab 1\n" + key + " " + number + "\n", "", kCountersFile, 12);
    }
  }
  expect_refused("oom_kill 1\noom_kill 2", "", kCountersFile, 11);
  const std::string some = "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";
  for (const char* line : {"full\n", "full avg10=0.00\n", "full total=\n", "full total=-1\n", "full total=x\n",
                           "full total= 5\n", "full total=18446744073709551616\n", "full total=1", "f"}) {
    expect_refused("oom_kill 1\n", some + line, kPressureFile, some.size());
  }
}

TEST_F(LinuxOom, NeverLooksForAFileAgainThatTheKernelDoesNotHave) {
  PreparedKernelView view(OperatingSystem::kLinux);
  view.contents[kCountersFile] = {"oom_kill 3\n"};
  SourceReader reader(source());
  MemoryTypeList list;
  ASSERT_TRUE(open_source(reader, view));
  const std::size_t before = view.reads_of(kPressureFile);
  for (std::uint64_t poll = 1; poll < 5; ++poll) ASSERT_TRUE(refresh(reader, view, list, poll));
  EXPECT_EQ(view.reads_of(kPressureFile), before + 1);
  EXPECT_EQ(statistics_of(reader.staging).size(), 1U);
  EXPECT_EQ(list.size(), 0U);
}

TEST_F(LinuxOom, IsNotPresentInAKernelThatCountsNoEvents) {
  PreparedKernelView view(OperatingSystem::kLinux);
  view.contents[kCountersFile] = {"nr_free_pages 5\nworkingset_refault_file 7\nnr_unstable 0\n"};
  SourceReader reader(source());
  MemoryTypeList list;
  EXPECT_TRUE(fails(refresh(reader, view, list, 1),
                    {.code = ErrorCode::kNotPresent, .path = kCountersFile, .detail = "CONFIG_VM_EVENT_COUNTERS"}));
}

TEST_F(LinuxOom, LosesNothingByAReadThatFailedOnce) {
  PreparedKernelView view(OperatingSystem::kLinux);
  view.contents[kCountersFile] = {"oom_kill 3\n"};
  view.contents[kPressureFile] = {"some total=1\n"};
  SourceReader reader(source());
  MemoryTypeList list;
  ASSERT_TRUE(refresh(reader, view, list, 1));
  view.failures[kPressureFile] = EIO;
  EXPECT_TRUE(fails(refresh(reader, view, list, 2), {.path = kPressureFile}));
  view.failures.clear();
  ASSERT_TRUE(refresh(reader, view, list, 3));
  EXPECT_EQ(statistics_of(reader.staging).size(), 2U);
}

// ---- this machine's kernel -----------------------------------------------------------------------------------------------

using LiveOom = LiveSource<source>;

TEST_F(LiveOom, CountsTheKillOfAProcessThatTookTooMuch) {
  ASSERT_TRUE(refreshes());
  auto before = statistics_of(reader_.staging);
  if (!before.contains("oom_kills_total")) GTEST_SKIP() << "this kernel does not count kills";
  const auto mounted = mounted_hierarchy();
  if (!mounted) GTEST_SKIP() << "no hierarchy below /sys/fs/cgroup has the memory controller";
  constexpr std::size_t kLimit = 8U << 20U;
  const LiveGroup group(mounted->root + "/memstat-oom-test-" + std::to_string(::getpid()));
  if (!group.is_made() ||
      !group.write(mounted->is_version_1 ? "memory.limit_in_bytes" : "memory.max", std::to_string(kLimit))) {
    GTEST_SKIP() << "cannot make a control group with a memory limit: not root, or no memory controller here";
  }
  group.write(mounted->is_version_1 ? "memory.swappiness" : "memory.swap.max", "0");
  Eater glutton(group, 8 * kLimit);
  if (!glutton.is_in_group()) GTEST_SKIP() << "processes cannot be moved into the control group";
  if (glutton.has_eaten()) GTEST_SKIP() << "the kernel did not kill a process above its group's limit";
  EXPECT_EQ(glutton.wait(), SIGKILL);
  ASSERT_TRUE(refreshes());
  EXPECT_GE(statistics_of(reader_.staging)["oom_kills_total"], before["oom_kills_total"] + 1);
}

}  // namespace
}  // namespace memstat::linux_oom_test
