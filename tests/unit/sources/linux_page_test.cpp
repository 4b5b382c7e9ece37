// SPDX-License-Identifier: BSD-2-Clause
// Zones from handwritten text. Captured and live kernels: tests/guests/checker.py.
#include "core/base/text.h"
#include "core/query.h"
#include "tests/support/prepared_kernel_view.h"
#include "tests/support/result_checks.h"
#include "tests/support/staged_statistics.h"
#include "tests/support/stream_builder.h"
#include "tests/support/test.h"

namespace memstat::linux_page_test {
namespace {

constexpr const char* kZoneFile = "/proc/zoneinfo";
constexpr const char* kCounterFile = "/proc/vmstat";
constexpr const char* kBuddyFile = "/proc/buddyinfo";
constexpr const char* kTypeFile = "/proc/pagetypeinfo";

const SourceDescriptor& source() { return *find_source("linux_page"); }

/// A zone as /proc/zoneinfo has it. `sets` are the pages of the CPUs from 0 on.
std::string zone(std::uint64_t node, const std::string& name, std::uint64_t free, std::uint64_t managed,
                 const std::vector<int>& sets = {}, const std::string& more = "") {
  const auto number = [](std::uint64_t value) { return std::to_string(value) + "\n"; };
  std::string text = "Node " + std::to_string(node) + ", zone " + std::string(name.size() < 8 ? 8 - name.size() : 0, ' ') +
                     name + "\n  pages free     " + number(free) +
                     "        boost    0\n        min      10\n        low      20\n" +
                     "        high     30\n        spanned  " + number(managed + 9) + "        present  " +
                     number(managed == 0 ? 0 : managed + 5) + "        managed  " + number(managed) +
                     "        cma      0\n        protection: (0, 0, 0)\n";
  if (managed == 0) return text;
  text += "      nr_free_pages " + number(free) + more + "  pagesets\n";
  for (std::size_t cpu = 0; cpu < sets.size(); ++cpu) {
    text += "    cpu: " + std::to_string(cpu) + "\n              count: " + std::to_string(sets[cpu]) +
            "\n              high:  77\n              batch: 63\n  vm stats threshold: 6\n";
  }
  return text + "  node_unreclaimable:  0\n  start_pfn:           1\n";
}

class LinuxPage : public testing::Test {
 protected:
  Result<void> parse(std::string_view zones, std::string_view counters = {}, std::string_view buddy = {},
                     std::string_view types = {}, std::uint32_t cpus = 2, std::uint64_t page_size = 4096) {
    raw_ = make_raw({}, cpus, page_size);
    const std::string_view texts[] = {zones, counters, buddy, types};
    for (std::size_t i = 0; i < std::size(texts); ++i) set_file(source(), source().plan[i].path, texts[i], raw_);
    return parse_bytes(source(), raw_, staging_);
  }
  void expect_refused(const Result<void>& result, const char* path, std::uint64_t offset) {
    ASSERT_TRUE(fails(result, {.code = ErrorCode::kData, .path = path, .offset = offset}));
    EXPECT_FALSE(result.error().detail.empty());
  }
  /// Statistics with this beginning, as "labels=value", in order of their labels.
  std::string words(const std::string& statistic) {
    EXPECT_TRUE(has_unique_statistics(staging_));
    std::ostringstream words;
    for (const auto& [key, bits] : statistics_of(staging_)) {
      if (key != statistic && !key.starts_with(statistic + "{")) continue;
      if (words.tellp() > 0) words << ' ';
      words << key.substr(statistic.size()) << '=';
      words << bits;
    }
    return words.str();
  }

  RawBytes raw_;
  Staging staging_;
};

const std::string kTwo = zone(0, "DMA", 3, 10, {1, 2}) + zone(0, "Normal", 40, 100, {3, 4});

TEST_F(LinuxPage, LeavesOutMemoryThatIsNotTheAllocators) {
  const std::string device =
      "Node 0, zone Device\n pages free 0\n present 512\n managed 0\n protection: (0)\n cpu: 0\n count: 9\n start_pfn: 7\n";
  ASSERT_TRUE(parse(kTwo + device, "", "Node 0, zone DMA 1 0\nNode 0, zone Normal 0 1\nNode 0, zone Device 0 0\n"));
  EXPECT_EQ(staging_.types().size(), 2U);
  EXPECT_EQ(words("zone_largest_free_block_bytes"), "{0,DMA}=4096 {0,Normal}=8192");
  EXPECT_EQ(staging_.cpu_figure(1, CpuField::kFree, 0), 3U) << "of no other zone";
  EXPECT_EQ(words("zone_watermark_bytes"),
            "{0,DMA,high}=122880 {0,DMA,low}=81920 {0,DMA,min}=40960 {0,Normal,high}=122880 {0,Normal,low}=81920 "
            "{0,Normal,min}=40960");
  expect_refused(parse(device), kZoneFile, device.size());
}

TEST_F(LinuxPage, CountsInPagesOfTheKernel) {
  ASSERT_TRUE(parse(kTwo, "", "Node 0, zone DMA 1 1 0\n", "", 2, 65536));
  EXPECT_EQ(staging_.types()[1].figures[Field::kBytes], 60U * 65536);
  EXPECT_EQ(words("zone_largest_free_block_bytes"), "{0,DMA}=131072");
  EXPECT_NE(words("zone_watermark_bytes").find("{0,DMA,min}=655360"), std::string::npos);
}

TEST_F(LinuxPage, NeverHasLessThanNothingInUse) {
  ASSERT_TRUE(parse(zone(0, "DMA", 12, 10)));
  EXPECT_EQ(staging_.types()[0].figures[Field::kBytes], 0U);
  EXPECT_EQ(staging_.types()[0].figures[Field::kFree], 12U);
}

TEST_F(LinuxPage, RefusesZonesOfMoreThan64Bits) {
  expect_refused(parse(kTwo + zone(1, "Normal", 1, std::uint64_t{1} << 52U)), kZoneFile, kTwo.size());
  expect_refused(parse(zone(0, "Normal", std::uint64_t{1} << 52U, 1)), kZoneFile, 0);
  EXPECT_TRUE(parse(zone(0, "Normal", 1, (std::uint64_t{1} << 52U) - 1)));
  EXPECT_EQ(staging_.types()[0].figures[Field::kHeldBytes], ~std::uint64_t{0} - 4095);
}

TEST_F(LinuxPage, RefusesAZoneThatIsThereTwice) {
  expect_refused(parse(kTwo + zone(0, "DMA", 1, 2)), kZoneFile, kTwo.size());
  expect_refused(parse(kTwo, "", "Node 0, zone DMA 1\nNode 0, zone DMA 1\n"), kBuddyFile, 19);
  ASSERT_TRUE(parse(kTwo, "", "Node 0, zone DMA 1\nNode 0, zone Normal 2\nNode 0, zone DMA 3\n"));
  EXPECT_EQ(words("buddy_free_blocks"), "{0,DMA,0}=1 {0,Normal,0}=2");
}

TEST_F(LinuxPage, OmitsUnknownCpus) {
  ASSERT_TRUE(parse(zone(0, "Normal", 40, 100, {3, 4, 5, 6}), "", "", "", 3));
  EXPECT_EQ(staging_.cpu_count(), 3U);
  EXPECT_EQ(staging_.cpu_figure(0, CpuField::kFree, 2), 5U);
  ASSERT_TRUE(
      parse("Node 0, zone A\n pages free 1\n present 3\n managed 2\n protection: (0)\n cpu: 18446744073709551615\n count: "
            "9\n start_pfn: 7\n"));
  ASSERT_TRUE(parse(zone(0, "Normal", 40, 100, {-7, 4})));
  EXPECT_EQ(staging_.cpu_figure(0, CpuField::kFree, 0), 0U) << "the kernel prints an int, which may be seen below 0";
}

TEST_F(LinuxPage, HasWhatKeepsFreePagesFromTheKernelsUse) {
  const auto changed = [](std::string text, const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  const std::string cma = "      nr_free_cma  7\n";
  const std::string boosted = changed(zone(0, "DMA32", 9, 20, {1, 2}, cma), "boost    0", "boost    5");
  ASSERT_TRUE(parse(zone(0, "DMA", 3, 10, {}, cma) + changed(boosted, "cma      0", "cma      8") +
                    changed(zone(1, "Normal", 1, 2, {3, 4}), "node_unreclaimable:  0", "node_unreclaimable:  1")));
  EXPECT_EQ(words("zone_boost_bytes"), "{0,DMA32}=20480 {0,DMA}=0 {1,Normal}=0");
  EXPECT_EQ(words("zone_free_cma_bytes"), "{0,DMA32}=28672") << "DMA has no such area";
  EXPECT_EQ(words("node_unreclaimable"), "{0}=0 {1}=1");
  ASSERT_TRUE(parse(changed(changed(boosted, "        cma      0\n", ""), "        boost    5\n", "")));
  EXPECT_EQ(words("zone_free_cma_bytes"), "{0,DMA32}=28672") << "kernels before 5.12 do not say which zone has areas";
  EXPECT_EQ(words("zone_boost_bytes"), "");
  for (const char* line : {"nr_free_cma  7", "boost    5", "node_unreclaimable:  0"}) {
    const std::string wrong = changed(boosted, line, std::string(line) + "x");
    expect_refused(parse(wrong), kZoneFile, wrong.rfind('\n', wrong.find(line)) + 1);
  }
}

TEST_F(LinuxPage, HasCountersOfZonesAndOfFailures) {
  ASSERT_TRUE(parse(kTwo, "pgalloc_dma 0\npgalloc_dma32 0\npgalloc_normal 7\npgalloc_movable 0\npgalloc_device 2\n"));
  EXPECT_EQ(words("page_allocations_total"), "{DMA}=0 {Device}=2 {Normal}=7")
      << "not of zones that do not exist and gave nothing";
}

TEST_F(LinuxPage, SaysWhichFileIsWrongWhere) {
  expect_refused(parse(""), kZoneFile, 0);
  expect_refused(parse(zone(0, "Movable", 0, 0)), kZoneFile, zone(0, "Movable", 0, 0).size());
  expect_refused(parse(kTwo + "Node 1, zone DMA\n"), kZoneFile, kTwo.size());
  expect_refused(parse(kTwo.substr(0, kTwo.size() - 1)), kZoneFile, kTwo.rfind("  start_pfn"));
  expect_refused(parse(kTwo, "pgfree 1\ncompact_fail x\n"), kCounterFile, 9);
  expect_refused(parse(kTwo, "pgfree 1\npgalloc_dma -1\n"), kCounterFile, 9);
  const std::string good = "Node 0, zone DMA 1 2\n";
  expect_refused(parse(kTwo, "", good + "Node 0, zone Normal 1 x\n"), kBuddyFile, good.size());
  const std::string typed = "Node 0, zone DMA, type Movable 1 2\n";
  for (const std::string line :
       {"DMA, kind Other 1", "DMA, type Other -1", "DMA, type Movable 3 4", "DMA, type Bad\xFF 3"}) {
    expect_refused(parse(kTwo, "", "", typed + "Node 0, zone " + line + "\n"), kTypeFile, typed.size());
  }
  std::string many;
  for (int i = 0; i < 16; ++i) many += "Node 0, zone DMA, type t" + std::to_string(i) + " 1\n";
  EXPECT_TRUE(parse(kTwo, "", "", many));
  expect_refused(parse(kTwo, "", "", many + "Node 0, zone DMA, type t16 1\n"), kTypeFile, many.size());
}

TEST(LinuxPageFiles, AreReadAsFarAsTheKernelHasThemAndTheOptionsWantThem) {
  PreparedKernelView view(OperatingSystem::kLinux, 2);
  view.contents[kZoneFile] = {kTwo};
  view.contents[kCounterFile] = {"pgfree 1\n"};
  view.contents[kTypeFile] = {"Node 0, zone DMA, type Movable 1 2\n"};
  for (const bool wants_types : {false, true}) {
    SourceReader reader(source());
    MemoryTypeList list;
    ASSERT_EQ(reader.state->options.size(), 1U);
    EXPECT_EQ(reader.state->options[0].number, 0U) << "off by default";
    reader.state->options[0].number = wants_types ? 1 : 0;
    ASSERT_TRUE(open_source(reader, view));
    const std::size_t types_before = view.reads_of(kTypeFile);
    for (std::uint64_t poll = 1; poll < 5; ++poll) ASSERT_TRUE(refresh(reader, view, list, poll));
    EXPECT_EQ(view.reads_of(kTypeFile) - types_before, wants_types ? 4U : 0U);
    EXPECT_EQ(sum_of_statistics(reader.staging, "buddy_free_blocks_by_type{").count, wants_types ? 2U : 0U);
    EXPECT_EQ(sum_of_statistics(reader.staging, "page_frees_total").sum, 1U);
    EXPECT_EQ(list.size(), 2U);
  }
}

TEST(LinuxPageFiles, OneThatOnlyRootMayOpenIsLeftOutWithANote) {
  PreparedKernelView view(OperatingSystem::kLinux, 2);
  view.contents[kZoneFile] = {kTwo};
  view.contents[kTypeFile] = {"Node 0, zone DMA, type Unmovable 1 2\n"};
  view.failures[kTypeFile] = EACCES;
  SourceReader reader(source());
  MemoryTypeList list;
  ASSERT_TRUE(open_source(reader, view));
  ASSERT_TRUE(refresh(reader, view, list, 1));
  EXPECT_EQ(reader.staging.note(), "") << "it was not requested";
  reader.state->options[0].number = 1;
  ASSERT_TRUE(open_source(reader, view));
  for (std::uint64_t poll = 2; poll < 5; ++poll) {
    ASSERT_TRUE(refresh(reader, view, list, poll)) << poll;
    EXPECT_NE(reader.staging.note().find("migrate_types"), std::string::npos) << poll;
  }
  EXPECT_EQ(sum_of_statistics(reader.staging, "buddy_free_blocks_by_type{").count, 0U);
  reader.state->options[0].number = 0;
  ASSERT_TRUE(refresh(reader, view, list, 5));
  view.failures.clear();
  reader.state->options[0].number = 1;
  ASSERT_TRUE(refresh(reader, view, list, 6));
  EXPECT_EQ(reader.staging.note(), "") << "switched on again";
  EXPECT_EQ(sum_of_statistics(reader.staging, "buddy_free_blocks_by_type{").count, 2U);
  view.contents.clear();
  EXPECT_EQ(open_source(reader, view).error().code, ErrorCode::kNotPresent) << "a kernel that does not have the first file";
}

}  // namespace
}  // namespace memstat::linux_page_test
