// SPDX-License-Identifier: BSD-2-Clause
// Kills and stalls from handwritten text. Captured and live kernels: tests/guests/checker.py.
#include "core/query.h"
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
    set_file(source(), kCountersFile, counters, raw);
    set_file(source(), kPressureFile, pressure, raw);
    return parse_bytes(source(), raw, staging_);
  }
  /// "statistic{labels}=value" of all, ordered by name.
  std::string words(std::string_view counters, std::string_view pressure = {}) {
    if (const auto result = parse(counters, pressure); !result) return to_string(result.error());
    EXPECT_TRUE(has_unique_statistics(staging_));
    EXPECT_TRUE(staging_.types().empty());
    std::ostringstream words;
    for (const auto& [key, bits] : statistics_of(staging_)) {
      words << (words.tellp() > 0 ? " " : "") << key << '=';
      key.starts_with("pressure_") ? words << std::bit_cast<double>(bits) : words << bits;
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

TEST_F(LinuxOom, HasTheTimeLostToInputAndOutput) {
  RawBytes raw;
  set_file(source(), kCountersFile, "oom_kill 2\n", raw);
  set_file(source(), "/proc/pressure/io", "some avg10=0.00 total=1500000\nfull avg10=0.00 total=500000\n", raw);
  ASSERT_TRUE(parse_bytes(source(), raw, staging_));
  auto found = statistics_of(staging_);
  EXPECT_EQ(std::bit_cast<double>(found["io_pressure_stall_seconds_total{some}"]), 1.5);
  EXPECT_EQ(std::bit_cast<double>(found["io_pressure_stall_seconds_total{full}"]), 0.5);
  EXPECT_FALSE(found.contains("pressure_stall_seconds_total{some}"));
  set_file(source(), "/proc/pressure/io", "some avg10=0.00 total=1", raw);
  EXPECT_TRUE(fails(parse_bytes(source(), raw, staging_), {.path = "/proc/pressure/io"}));
}

TEST_F(LinuxOom, LeavesOutWhatAKernelDoesNotCount) {
  EXPECT_EQ(words("allocstall_normal 2\n"), "allocation_stalls_total{Normal}=2")
      << "oom_kill exists since 4.13, zone_reclaim with NUMA";
  EXPECT_EQ(words("workingset_refault 4\npgsteal_kswapd_dma 1\npgsteal_kswapd_normal 2\npgscan_direct_normal 5\n"
                  "pgscan_direct_movable 0\npgscan_direct_throttle 7\nallocstall 3\n"),
            "allocation_stalls_total{all}=3 reclaim_scanned_pages_total{direct}=5 reclaim_throttles_total=7 "
            "reclaimed_pages_total{kswapd}=3 refaulted_pages_total{file}=4")
      << "before 4.8, by zone";
  EXPECT_EQ(words("oom_kill 2\n", "\n"), "oom_kills_total=2");
  EXPECT_EQ(words("oom_kill 2\n", "some avg10=0.00 total=3000000\n"),
            "oom_kills_total=2 pressure_stall_seconds_total{some}=3");
  EXPECT_EQ(words("oom_kill 2\n", "irq total=3\nmost total=x\n"), "oom_kills_total=2") << "kinds that are yet to come";
}

TEST_F(LinuxOom, TellsReclaimOnRequestAndTiersApart) {
  EXPECT_EQ(words("pgpromote_success 6\npgdemote_kswapd 1\npgdemote_proactive 2\npgsteal_khugepaged 3\npgsteal_proactive 4\n"
                  "pgscan_khugepaged 5\npgscan_proactive 7\nthp_split_page 8\n"),
            "demoted_pages_total{kswapd}=1 demoted_pages_total{proactive}=2 huge_page_splits_total=8 promoted_pages_total=6 "
            "reclaim_scanned_pages_total{khugepaged}=5 reclaim_scanned_pages_total{proactive}=7 "
            "reclaimed_pages_total{khugepaged}=3 reclaimed_pages_total{proactive}=4");
}

TEST_F(LinuxOom, SaysWhatIsWrongWhere) {
  expect_refused("", "", kCountersFile, 0);
  expect_refused("nr_free_pages 5\n", "", kCountersFile, 16);
  for (const std::string key : {"oom_kill", "allocstall_normal", "pgscan_direct"}) {
    expect_refused("drop_slab 1\n" + key + " x\n", "", kCountersFile, 12);
  }
  expect_refused("oom_kill 1\noom_kill 2", "", kCountersFile, 11);
  expect_refused("oom_kill 1\n", "some total=0\nfull total=1", kPressureFile, 13);
}

TEST_F(LinuxOom, IsNotPresentInAKernelThatCountsNoEvents) {
  PreparedKernelView view(OperatingSystem::kLinux);
  view.contents[kCountersFile] = {"nr_free_pages 5\nworkingset_refault_file 7\nnr_unstable 0\n"};
  SourceReader reader(source());
  MemoryTypeList list;
  EXPECT_TRUE(fails(refresh(reader, view, list, 1),
                    {.code = ErrorCode::kNotPresent, .path = kCountersFile, .detail = "CONFIG_VM_EVENT_COUNTERS"}));
}

}  // namespace
}  // namespace memstat::linux_oom_test
