// SPDX-License-Identifier: BSD-2-Clause
// Kills and stalls from text made by hand, from every captured kernel, and from this machine's kernel, which is made to kill
// one of our own processes.
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/query.h"
#include "tests/support/fixtures.h"
#include "tests/support/prepared_kernel_view.h"
#include "tests/support/source_reading.h"
#include "tests/support/staged_statistics.h"
#include "tests/support/stream_builder.h"

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
  /// "statistic{labels}=value" of all, in order of their names.
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
    ASSERT_FALSE(result) << counters << pressure;
    EXPECT_EQ(result.error().code, ErrorCode::kData);
    EXPECT_EQ(result.error().path, path) << counters << pressure;
    EXPECT_EQ(result.error().offset, offset) << counters << pressure;
    EXPECT_FALSE(result.error().detail.empty());
  }

  Staging staging_;
};

TEST_F(LinuxOom, TellsKillsStallsAndReclaim) {
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

TEST_F(LinuxOom, TellsWhatReclaimTookAndWhatCameBack) {
  EXPECT_EQ(words("workingset_refault_anon 1\nworkingset_refault_file 2\nnr_throttled_written 3\npswpin 4\npswpout 5\n"
                  "pgscan_anon 6\npgscan_file 7\npgsteal_anon 8\npgsteal_file 9\nzswpin 10\nzswpout 11\nzswpwb 12\n"),
            "lru_reclaimed_pages_total{anon}=8 lru_reclaimed_pages_total{file}=9 lru_scanned_pages_total{anon}=6 "
            "lru_scanned_pages_total{file}=7 paged_pages_total{swap,in}=4 paged_pages_total{swap,out}=5 "
            "refaulted_pages_total{anon}=1 refaulted_pages_total{file}=2 throttled_written_pages_total=3 "
            "zswap_pages_total{in}=10 zswap_pages_total{out}=11 zswap_pages_total{writeback}=12");
}

TEST_F(LinuxOom, TellsTheTimeLostToInputAndOutputApart) {
  RawBytes raw;
  raw.parts[0].assign("oom_kill 2\n");
  raw.parts[2].assign("some avg10=0.00 total=1500000\nfull avg10=0.00 total=500000\n");
  ASSERT_TRUE(parse_bytes(source(), raw, staging_));
  auto found = statistics_of(staging_);
  EXPECT_EQ(std::bit_cast<double>(found["io_pressure_stall_seconds_total{some}"]), 1.5);
  EXPECT_EQ(std::bit_cast<double>(found["io_pressure_stall_seconds_total{full}"]), 0.5);
  EXPECT_FALSE(found.contains("pressure_stall_seconds_total{some}"));
  raw.parts[2].assign("some avg10=0.00 total=1");
  const auto refused = parse_bytes(source(), raw, staging_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().path, "/proc/pressure/io");
}

TEST_F(LinuxOom, LeavesOutWhatAKernelDoesNotCount) {
  EXPECT_EQ(words("allocstall_normal 2\n"), "allocation_stalls_total{Normal}=2")
      << "oom_kill came with 4.13, zone_reclaim with NUMA";
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
  const auto refused = refresh(reader, view, list, 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kNotPresent);
  EXPECT_EQ(refused.error().path, kCountersFile);
  EXPECT_NE(refused.error().detail.find("CONFIG_VM_EVENT_COUNTERS"), std::string::npos);
}

TEST_F(LinuxOom, LosesNothingByAReadThatFailedOnce) {
  PreparedKernelView view(OperatingSystem::kLinux);
  view.contents[kCountersFile] = {"oom_kill 3\n"};
  view.contents[kPressureFile] = {"some total=1\n"};
  SourceReader reader(source());
  MemoryTypeList list;
  ASSERT_TRUE(refresh(reader, view, list, 1));
  view.failures[kPressureFile] = EIO;
  const auto failed = refresh(reader, view, list, 2);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().path, kPressureFile);
  view.failures.clear();
  ASSERT_TRUE(refresh(reader, view, list, 3));
  EXPECT_EQ(statistics_of(reader.staging).size(), 2U);
}

// ---- kernels -------------------------------------------------------------------------------------------------------------

/// An independent reader of "name value" lines.
std::map<std::string, std::uint64_t> counters_of(std::string_view text) {
  std::map<std::string, std::uint64_t> counters;
  std::istringstream lines{std::string(text)};
  std::string key;
  for (std::uint64_t value = 0; lines >> key >> value;) counters[key] = value;
  return counters;
}

using CapturedOom = CapturedSource<source>;

TEST_P(CapturedOom, EqualsWhatAnIndependentReaderFinds) {
  Buffer text;
  ASSERT_TRUE(view_->read_file(kCountersFile, text));
  auto expected = counters_of(text.view());
  auto seen = statistics_of(reader_.staging);
  EXPECT_TRUE(has_unique_statistics(reader_.staging));
  std::size_t stalls = 0;
  for (const auto& [key, value] : expected) stalls += key.starts_with("allocstall_") ? 1 : 0;
  EXPECT_GE(stalls, 3U);
  EXPECT_EQ(sum_of_statistics(reader_.staging, "allocation_stalls_total{").count, stalls);
  const std::map<std::string, std::string> names{{"oom_kills_total", "oom_kill"},
                                                 {"reclaim_throttles_total", "pgscan_direct_throttle"},
                                                 {"node_reclaim_failures_total", "zone_reclaim_failed"},
                                                 {"cache_drops_total{pagecache}", "drop_pagecache"},
                                                 {"cache_drops_total{slab}", "drop_slab"},
                                                 {"reclaimed_pages_total{direct}", "pgsteal_direct"},
                                                 {"reclaimed_pages_total{kswapd}", "pgsteal_kswapd"},
                                                 {"reclaim_scanned_pages_total{direct}", "pgscan_direct"},
                                                 {"reclaim_scanned_pages_total{kswapd}", "pgscan_kswapd"},
                                                 {"allocation_stalls_total{Normal}", "allocstall_normal"},
                                                 {"allocation_stalls_total{Movable}", "allocstall_movable"}};
  for (const auto& [statistic, key] : names) {
    ASSERT_TRUE(expected.contains(key)) << key;
    ASSERT_TRUE(seen.contains(statistic)) << statistic;
    EXPECT_EQ(seen[statistic], expected[key]) << statistic;
  }
  // The kernels with allocation profiling were built without pressure stall information.
  const bool has_pressure = view_->read_file(kPressureFile, text).has_value();
  EXPECT_EQ(has_pressure, GetParam().find("profiling") == std::string::npos);
  EXPECT_EQ(sum_of_statistics(reader_.staging, "pressure_stall_seconds_total{").count, has_pressure ? 2U : 0U);
}

INSTANTIATE_TEST_SUITE_P(Captures, CapturedOom, shown_by("linux_oom"), name_of_capture);

/// A memory control group of our own with a limit, gone with this.
class LimitedGroup {
 public:
  static constexpr std::uint64_t kLimit = 8U << 20U;  // B

  LimitedGroup() {
    std::ifstream own("/proc/self/cgroup");
    for (std::string line; std::getline(own, line);) {
      const std::size_t first = line.find(':');
      const std::size_t second = line.find(':', first + 1);
      if (second == std::string::npos) continue;
      const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
      const std::string path = line.substr(second + 1);
      if (controllers.find(",memory,") != std::string::npos) {
        try_group("/sys/fs/cgroup/memory" + path, "memory.limit_in_bytes");
      } else if (controllers == ",,") {
        try_group("/sys/fs/cgroup" + path, "memory.max");
        try_group("/sys/fs/cgroup", "memory.max");
      }
    }
  }
  ~LimitedGroup() {
    if (!directory_.empty()) rmdir(directory_.c_str());
  }
  LimitedGroup(const LimitedGroup&) = delete;
  LimitedGroup& operator=(const LimitedGroup&) = delete;

  [[nodiscard]] bool is_ready() const { return !directory_.empty(); }
  [[nodiscard]] std::string processes_file() const { return directory_ + "/cgroup.procs"; }

 private:
  void try_group(const std::string& parent, const char* limit) {
    if (is_ready()) return;
    const std::string directory = parent + "/memstat-oom-test-" + std::to_string(getpid());
    std::error_code error;
    if (!std::filesystem::create_directory(directory, error)) return;
    std::ofstream file(directory + "/" + limit);
    if (file << kLimit << std::flush) {
      directory_ = directory;
      std::ofstream(directory + "/memory.swap.max") << 0;  // where there is one
    } else {
      rmdir(directory.c_str());
    }
  }
  std::string directory_;
};

/// Uses more memory than the group has, in a process of its own. Returns how that ended, as waitpid reports.
int exceed(const LimitedGroup& group) {
  const std::string file = group.processes_file();
  const pid_t child = fork();
  if (child == 0) {
    std::ofstream processes(file);
    if (!(processes << getpid() << std::flush)) _exit(3);
    constexpr std::size_t kSize = 8 * LimitedGroup::kLimit;
    char* const memory =
        static_cast<char*>(mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (memory == MAP_FAILED) _exit(4);
    for (std::size_t at = 0; at < kSize; at += 4096) memory[at] = 1;
    _exit(0);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return -1;
  return status;
}

using LiveOom = LiveSource<source>;

TEST_F(LiveOom, CountsTheKillOfAProcessThatTookTooMuch) {
  ASSERT_TRUE(refreshes());
  auto before = statistics_of(reader_.staging);
  if (!before.contains("oom_kills_total")) GTEST_SKIP() << "this kernel does not count kills";
  const LimitedGroup group;
  if (!group.is_ready())
    GTEST_SKIP() << "cannot make a control group with a memory limit: not root, or no memory controller here";
  const int status = exceed(group);
  if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) {
    GTEST_SKIP() << "the kernel did not kill a process above its group's limit: status " << status;
  }
  ASSERT_TRUE(refreshes());
  auto after = statistics_of(reader_.staging);
  EXPECT_GE(after["oom_kills_total"], before["oom_kills_total"] + 1);
}

TEST_F(LiveOom, LiesBetweenTwoReadsOfTheSameFiles) {
  const auto read_counters = [] {
    std::ifstream file(kCountersFile);
    std::ostringstream text;
    text << file.rdbuf();
    return counters_of(text.str());
  };
  const auto read_pressure = [] {
    std::ifstream file(kPressureFile);
    std::string word;
    double seconds = -1;
    while (seconds < 0 && file >> word) {
      if (word.starts_with("total=")) seconds = std::stod(word.substr(6)) / 1e6;
    }
    return seconds;
  };
  auto before = read_counters();
  const double pressure_before = read_pressure();
  ASSERT_TRUE(refreshes());
  auto after = read_counters();
  const double pressure_after = read_pressure();
  auto seen = statistics_of(reader_.staging);
  for (const auto& [statistic, key] :
       std::map<std::string, std::string>{{"oom_kills_total", "oom_kill"},
                                          {"cache_drops_total{slab}", "drop_slab"},
                                          {"reclaim_scanned_pages_total{direct}", "pgscan_direct"},
                                          {"reclaimed_pages_total{kswapd}", "pgsteal_kswapd"},
                                          {"allocation_stalls_total{Normal}", "allocstall_normal"}}) {
    ASSERT_EQ(seen.contains(statistic), before.contains(key)) << key;
    if (!before.contains(key)) continue;
    EXPECT_GE(seen[statistic], before[key]) << statistic;
    EXPECT_LE(seen[statistic], after[key]) << statistic;
  }
  ASSERT_EQ(seen.contains("pressure_stall_seconds_total{some}"), pressure_before >= 0);
  if (pressure_before >= 0) {
    const auto some = std::bit_cast<double>(seen["pressure_stall_seconds_total{some}"]);
    EXPECT_GE(some, pressure_before);
    EXPECT_LE(some, pressure_after);
  }
}

}  // namespace
}  // namespace memstat::linux_oom_test
