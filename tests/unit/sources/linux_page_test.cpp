// SPDX-License-Identifier: BSD-2-Clause
// Zones from text made by hand and from every captured kernel, against independent readers of the same and of other files.
#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <regex>
#include <sstream>

#include "core/base/no_figure.h"
#include "core/base/text.h"
#include "core/query.h"
#include "tests/support/fixtures.h"
#include "tests/support/meminfo.h"
#include "tests/support/prepared_kernel_view.h"
#include "tests/support/source_cases.h"
#include "tests/support/staged_statistics.h"
#include "tests/support/stream_builder.h"

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
    raw_ = make_raw(zones, cpus, page_size);
    raw_.parts[1].assign(counters);
    raw_.parts[2].assign(buddy);
    raw_.parts[3].assign(types);
    return parse_bytes(source(), raw_, staging_);
  }
  void expect_refused(const Result<void>& result, const char* path, std::uint64_t offset) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::kData);
    EXPECT_EQ(result.error().path, path) << to_string(result.error());
    EXPECT_EQ(result.error().offset, offset) << to_string(result.error());
    EXPECT_FALSE(result.error().detail.empty());
  }
  /// Statistics that begin so, as "labels=value", in order of their labels.
  std::string words(const std::string& statistic) {
    EXPECT_TRUE(has_unique_statistics(staging_));
    std::ostringstream words;
    for (const auto& [key, bits] : statistics_of(staging_)) {
      if (key != statistic && !key.starts_with(statistic + "{")) continue;
      if (words.tellp() > 0) words << ' ';
      words << key.substr(statistic.size()) << '=';
      if (statistic == "fragmentation_index" || statistic == "unusable_free_ratio") {
        words << std::bit_cast<double>(bits);
      } else {
        words << bits;
      }
    }
    return words.str();
  }

  RawBytes raw_;
  Staging staging_;
};

const std::string kTwo = zone(0, "DMA", 3, 10, {1, 2}) + zone(0, "Normal", 40, 100, {3, 4});

TEST_F(LinuxPage, MakesATypeOfEachZoneWithMemory) {
  ASSERT_TRUE(parse(zone(0, "DMA", 3, 10, {1, 2}) + zone(0, "Normal", 40, 100, {30, 0}) + zone(0, "Movable", 0, 0) +
                    zone(1, "Normal", 7, 8) + zone(10, "Normal", 0, 8)));
  ASSERT_EQ(staging_.types().size(), 4U);
  const char* names[] = {"node 0 DMA", "node 0 Normal", "node 1 Normal", "node 10 Normal"};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(staging_.types()[i].name, names[i]) << "in the kernel's order";
  const StagedType& type = staging_.types()[1];
  EXPECT_EQ(type.figures[Field::kBytes], 60U * 4096);
  EXPECT_EQ(type.figures[Field::kCount], 60U);
  EXPECT_EQ(type.figures[Field::kHeldBytes], 100U * 4096);
  EXPECT_EQ(type.figures[Field::kFree], 40U);
  EXPECT_EQ(type.figures[Field::kSize], 4096U);
  EXPECT_EQ(type.figures[Field::kRSize], 4096U);
  EXPECT_EQ(type.fields, source().fields);
  EXPECT_EQ(staging_.cpu_figure(0, CpuField::kFree, 1), 2U);
  EXPECT_EQ(staging_.cpu_figure(1, CpuField::kFree, 0), 30U);
  EXPECT_EQ(staging_.cpu_figure(3, CpuField::kFree, 0), kNoFigure);
}

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

TEST_F(LinuxPage, LeavesOutCpusThatNobodyKnows) {
  ASSERT_TRUE(parse(zone(0, "Normal", 40, 100, {3, 4, 5, 6}), "", "", "", 3));
  EXPECT_EQ(staging_.cpu_count(), 3U);
  EXPECT_EQ(staging_.cpu_figure(0, CpuField::kFree, 2), 5U);
  ASSERT_TRUE(
      parse("Node 0, zone A\n pages free 1\n present 3\n managed 2\n protection: (0)\n cpu: 18446744073709551615\n count: "
            "9\n start_pfn: 7\n"));
  ASSERT_TRUE(parse(zone(0, "Normal", 40, 100, {-7, 4})));
  EXPECT_EQ(staging_.cpu_figure(0, CpuField::kFree, 0), 0U) << "the kernel prints an int, which may be seen below 0";
}

TEST_F(LinuxPage, SumsNumaEventsOverTheZonesOfANode) {
  const std::string first = "      numa_hit     100\n      numa_miss    1\n      numa_other   3\n";
  const std::string second = "      numa_hit     11\n      numa_miss    0\n      numa_other   4\n";
  ASSERT_TRUE(
      parse(zone(0, "DMA", 3, 10, {}, first) + zone(0, "Normal", 40, 100, {}, second) + zone(1, "Normal", 1, 2, {}, first)));
  EXPECT_EQ(words("numa_events_total"), "{0,hit}=111 {0,miss}=1 {0,other}=7 {1,hit}=100 {1,miss}=1 {1,other}=3");
  ASSERT_TRUE(parse(kTwo));
  EXPECT_EQ(words("numa_events_total"), "") << "a kernel without CONFIG_NUMA";
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
  ASSERT_TRUE(parse(kTwo,
                    "pgalloc_dma 0\npgalloc_dma32 0\npgalloc_normal 7\npgalloc_movable 0\npgalloc_device 2\npgfree 9\n"
                    "pgmigrate_fail 8\ncompact_stall 1\ncompact_fail 2\ncompact_success 3\nhtlb_buddy_alloc_fail 4\n"
                    "cma_alloc_fail 10\nthp_fault_fallback 5\nthp_fault_fallback_charge 50\nthp_collapse_alloc_failed 6\n"
                    "thp_file_fallback 11\nthp_zero_page_alloc_failed 12\n"));
  EXPECT_EQ(words("page_allocations_total"), "{DMA}=0 {Device}=2 {Normal}=7")
      << "not of zones that do not exist and gave nothing";
  EXPECT_EQ(words("page_frees_total"), "=9");
  EXPECT_EQ(words("page_allocation_failures_total"),
            "{cma}=10 {hugetlb}=4 {thp_collapse}=6 {thp_fault}=5 {thp_file}=11 {thp_zero_page}=12");
  EXPECT_EQ(words("page_migration_failures_total"), "=8");
  EXPECT_EQ(words("compaction_stalls_total") + words("compaction_failures_total") + words("compaction_successes_total"),
            "=1=2=3");
}

TEST_F(LinuxPage, HasFreeBlocksByOrderAndWhatTheyAreGoodFor) {
  ASSERT_TRUE(parse(
      kTwo, "", "Node 0, zone      DMA      4      2      1      0 \nNode 0, zone   Normal      0      0      0      0 \n"));
  EXPECT_EQ(words("buddy_free_blocks"),
            "{0,DMA,0}=4 {0,DMA,1}=2 {0,DMA,2}=1 {0,DMA,3}=0 {0,Normal,0}=0 {0,Normal,1}=0 {0,Normal,2}=0 {0,Normal,3}=0");
  EXPECT_EQ(words("zone_largest_free_block_bytes"), "{0,DMA}=16384 {0,Normal}=0");
  EXPECT_EQ(words("unusable_free_ratio"),
            "{0,DMA,0}=0 {0,DMA,1}=0.333333 {0,DMA,2}=0.666667 {0,DMA,3}=1 {0,Normal,0}=1 {0,Normal,1}=1 {0,Normal,2}=1 "
            "{0,Normal,3}=1");
  EXPECT_EQ(words("fragmentation_index"),
            "{0,DMA,0}=-1 {0,DMA,1}=-1 {0,DMA,2}=-1 {0,DMA,3}=0.642857 {0,Normal,0}=0 {0,Normal,1}=0 {0,Normal,2}=0 "
            "{0,Normal,3}=0");
}

TEST_F(LinuxPage, HasFreeBlocksByMigrateTypeOfTheTableThatHasThem) {
  ASSERT_TRUE(
      parse(kTwo, "", "",
            "Page block order: 9\nPages per block:  512\n\nFree pages count per migrate type at order       0      1 \n"
            "Node    0, zone      DMA, type    Unmovable      4      2 \nNode    0, zone      DMA, type      Movable "
            ">100000      2 \n"
            "Node    0, zone   Normal, type      Movable      0      1 \nNode    0, zone   Device, type      Movable      0 "
            "     1 \n"
            "\nNumber of blocks type     Unmovable      Movable \nNode 0, zone      DMA            1            7 \n"));
  EXPECT_EQ(
      words("buddy_free_blocks_by_type"),
      "{0,DMA,Movable,0}=100000 {0,DMA,Movable,1}=2 {0,DMA,Unmovable,0}=4 {0,DMA,Unmovable,1}=2 {0,Normal,Movable,0}=0 "
      "{0,Normal,Movable,1}=1");
}

TEST_F(LinuxPage, TakesMoreOrdersThanElevenAndRefusesEndlessOnes) {
  std::string row;
  for (int i = 0; i < 16; ++i) row += "1 ";
  ASSERT_TRUE(parse(kTwo, "", "Node 0, zone DMA " + row + "\n"));
  EXPECT_EQ(words("zone_largest_free_block_bytes"), "{0,DMA}=" + std::to_string(4096 << 15));
  expect_refused(parse(kTwo, "", "Node 0, zone DMA " + row + row + "1\n"), kBuddyFile, 0);
}

TEST_F(LinuxPage, SaysWhichFileIsWrongWhere) {
  expect_refused(parse(""), kZoneFile, 0);
  expect_refused(parse(zone(0, "Movable", 0, 0)), kZoneFile, zone(0, "Movable", 0, 0).size());
  expect_refused(parse(kTwo + "Node 1, zone DMA\n"), kZoneFile, kTwo.size());
  expect_refused(parse(kTwo.substr(0, kTwo.size() - 1)), kZoneFile, kTwo.rfind("  start_pfn"));
  expect_refused(parse(kTwo, "pgfree 1\ncompact_fail x\n"), kCounterFile, 9);
  expect_refused(parse(kTwo, "pgfree 1\npgalloc_dma -1\n"), kCounterFile, 9);
  const std::string good = "Node 0, zone DMA 1 2\n";
  for (const char* line :
       {"x\n", "Node 0, zone Normal\n", "Node 0, zone Normal 1 x\n", "Node 0, zone Normal -1\n", "Node 0 zone Normal 1\n",
        "Node 0, zone Normal 1.5\n", "Node 0, zone Normal 18446744073709551616\n", "Node 0, zone Normal 1"}) {
    expect_refused(parse(kTwo, "", good + line), kBuddyFile, good.size());
  }
  const std::string typed = "Node 0, zone DMA, type Movable 1 2\n";
  for (const std::string& line :
       {std::string("Node 0, zone DMA,\n"), std::string("Node 0, zone DMA, type\n"),
        std::string("Node 0, zone DMA, kind Other 1\n"), std::string("Node 0, zone DMA, type Other\n"),
        std::string("Node 0, zone DMA, type Other x\n"), std::string("Node 0, zone DMA, type Other -1\n"),
        std::string("Node 0, zone DMA, type Movable 3 4\n"), std::string("Node 0, zone DMA, type Bad\xFF 3\n"),
        "Node 0, zone DMA, type " + std::string(4096, 'n') + " 3\n"}) {
    expect_refused(parse(kTwo, "", "", typed + line), kTypeFile, typed.size());
  }
  std::string many;
  for (int i = 0; i < 16; ++i) many += "Node 0, zone DMA, type t" + std::to_string(i) + " 1\n";
  EXPECT_TRUE(parse(kTwo, "", "", many));
  expect_refused(parse(kTwo, "", "", many + "Node 0, zone DMA, type t16 1\n"), kTypeFile, many.size());
}

TEST_F(LinuxPage, TakesNamesWithOddBytesAndCutsEndlessOnes) {
  ASSERT_TRUE(parse(zone(0, "a\"\\{b}", 3, 10) + zone(0, "bad\xFF", 3, 10) + zone(0, std::string(4096, 'n'), 3, 10)));
  EXPECT_EQ(staging_.types()[0].name, "node 0 a\"\\{b}");
  EXPECT_EQ(staging_.types()[1].name, "node 0 bad\xEF\xBF\xBD");
  EXPECT_EQ(staging_.types()[2].name, "node 0 " + std::string(64, 'n'));
  for (const auto& [key, bits] : statistics_of(staging_)) EXPECT_TRUE(is_valid_label_text(key)) << key;
}

TEST_F(LinuxPage, TakesAThousandNodesWithFiveZonesEach) {
  std::string zones;
  std::string buddy;
  for (std::uint64_t node = 0; node < 1024; ++node) {
    for (const std::string name : {"DMA", "DMA32", "Normal", "Movable", "Device"}) {
      zones += zone(node, name, node, 2048, {1, 2});
      buddy += "Node " + std::to_string(node) + ", zone " + name + " " + std::to_string(node) + " 0 0\n";
    }
  }
  ASSERT_TRUE(parse(zones, "", buddy));
  ASSERT_EQ(staging_.types().size(), 5120U);
  EXPECT_EQ(staging_.types()[5119].name, "node 1023 Device");
  EXPECT_EQ(staging_.types()[5119].figures[Field::kFree], 1023U);
  EXPECT_EQ(statistics_of(staging_)["buddy_free_blocks{1023,Device,0}"], 1023U);
  EXPECT_EQ(sum_of_statistics(staging_, "zone_largest_free_block_bytes{").count, 5120U);
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
    EXPECT_EQ(reader.state->options[0].number, 0U) << "off unless asked for";
    reader.state->options[0].number = wants_types ? 1 : 0;
    ASSERT_TRUE(open_source(reader, view));
    const std::size_t before = view.reads_of(kBuddyFile);
    const std::size_t types_before = view.reads_of(kTypeFile);
    for (std::uint64_t poll = 1; poll < 5; ++poll) ASSERT_TRUE(refresh(reader, view, list, poll));
    EXPECT_EQ(view.reads_of(kBuddyFile), before + 1) << "what is not there is not looked for again";
    EXPECT_EQ(view.reads_of(kTypeFile) - types_before, wants_types ? 4U : 0U);
    EXPECT_EQ(sum_of_statistics(reader.staging, "buddy_free_blocks_by_type{").count, wants_types ? 2U : 0U);
    EXPECT_EQ(sum_of_statistics(reader.staging, "page_frees_total").sum, 1U);
    EXPECT_EQ(list.size(), 2U);
  }
}

TEST(LinuxPageFiles, ThatFailAreNamedAndReadAgain) {
  PreparedKernelView view(OperatingSystem::kLinux, 2);
  view.contents[kZoneFile] = {kTwo};
  view.contents[kBuddyFile] = {"Node 0, zone DMA 1 2\n"};
  SourceReader reader(source());
  MemoryTypeList list;
  ASSERT_TRUE(refresh(reader, view, list, 1));
  view.failures[kBuddyFile] = EIO;
  const auto failed = refresh(reader, view, list, 2);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().path, kBuddyFile);
  view.failures.clear();
  ASSERT_TRUE(refresh(reader, view, list, 3));
  EXPECT_EQ(sum_of_statistics(reader.staging, "buddy_free_blocks{").count, 2U);
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
  EXPECT_EQ(reader.staging.note(), "") << "it was not asked for";
  reader.state->options[0].number = 1;
  ASSERT_TRUE(open_source(reader, view));
  for (std::uint64_t poll = 2; poll < 5; ++poll) {
    ASSERT_TRUE(refresh(reader, view, list, poll)) << poll;
    EXPECT_NE(reader.staging.note().find("migrate_types"), std::string::npos) << poll;
  }
  EXPECT_EQ(view.reads_of(kTypeFile), 1U) << "asked for once";
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

TEST(LinuxPageFiles, OneThatMayNotBeReadLaterIsLeftOutWithANote) {
  PreparedKernelView view(OperatingSystem::kLinux, 2);
  view.contents[kZoneFile] = {kTwo};
  view.failures[kTypeFile] = EACCES;
  SourceReader reader(source());
  MemoryTypeList list;
  ASSERT_TRUE(refresh(reader, view, list, 1));
  reader.state->options[0].number = 1;
  ASSERT_TRUE(refresh(reader, view, list, 2));
  EXPECT_NE(reader.staging.note().find("migrate_types"), std::string::npos);
}

// ---- captured kernels ----------------------------------------------------------------------------------------------------

/// What an independent reader finds in the text of one zone of /proc/zoneinfo, by the words before the numbers.
using Words = std::map<std::string, std::uint64_t>;
std::map<std::string, Words> zones_of_text(const std::string& text) {
  std::map<std::string, Words> zones;
  const std::regex header("Node (\\d+), zone +(\\S+)");
  std::istringstream lines(text);
  Words* current = nullptr;
  std::string cpu;
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_match(line, match, header)) {
      current = &zones["node " + match[1].str() + " " + match[2].str()];
      continue;
    }
    std::istringstream words(line);
    std::string key;
    std::uint64_t value = 0;
    words >> key;
    if (key == "pages") words >> key;
    if (!(words >> value)) continue;
    if (key == "cpu:") cpu = std::to_string(value);
    if (key == "count:") key += cpu;
    if (current != nullptr) current->emplace(key, value);
  }
  std::erase_if(zones, [](const auto& entry) { return entry.second.at("managed") == 0; });
  return zones;
}

std::string text_of(KernelView& view, const char* path) {
  Buffer text;
  EXPECT_TRUE(view.read_file(path, text)) << path;
  return std::string(text.view());
}

class CapturedZones : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    view_ = open_fixture(GetParam());
    reader_.state->options[0].number = 1;
    ASSERT_TRUE(open_source(reader_, *view_));
    const auto refreshed = refresh(reader_, *view_, list_, 1);
    ASSERT_TRUE(refreshed) << to_string(refreshed.error());
    statistics_ = statistics_of(reader_.staging);
  }
  std::uint64_t sum(Field field) const {
    std::uint64_t sum = 0;
    for (const MemoryType* type = list_.first(); type != nullptr; type = type->next()) sum += type->figure(field);
    return sum;
  }

  std::unique_ptr<ReplayKernelView> view_;
  SourceReader reader_{source()};
  MemoryTypeList list_;
  std::map<std::string, std::uint64_t> statistics_;
};

TEST_P(CapturedZones, EqualWhatAnIndependentReaderFinds) {
  auto expected = zones_of_text(text_of(*view_, kZoneFile));
  EXPECT_EQ(list_.size(), expected.size());
  EXPECT_TRUE(has_unique_statistics(reader_.staging));
  for (auto& [name, words] : expected) {
    const MemoryType* type = list_.find(Allocator::kPage, name);
    ASSERT_NE(type, nullptr) << name;
    EXPECT_EQ(type->figure(Field::kFree), words["free"]) << name;
    EXPECT_EQ(type->figure(Field::kCount), words["managed"] - words["free"]) << name;
    EXPECT_EQ(type->figure(Field::kHeldBytes), words["managed"] * 4096) << name;
    std::size_t cpus = 0;
    for (std::uint32_t cpu = 0; cpu < view_->cpu_count(); ++cpu) {
      if (!words.contains("count:" + std::to_string(cpu))) continue;
      ++cpus;
      EXPECT_EQ(type->cpu_figure(CpuField::kFree, cpu), words["count:" + std::to_string(cpu)]) << name << cpu;
    }
    EXPECT_EQ(cpus, view_->cpu_count());
    std::string labels = name.substr(5);
    labels[labels.find(' ')] = ',';
    for (const std::string watermark : {"min", "low", "high", "promo"}) {
      const std::string key = "zone_watermark_bytes{" + labels + "," + watermark + "}";
      ASSERT_EQ(statistics_.contains(key), words.contains(watermark)) << key;
      if (words.contains(watermark)) {
        EXPECT_EQ(statistics_[key], words[watermark] * 4096) << key;
      }
    }
  }
  const bool is_old = GetParam().starts_with("linux-5") || GetParam().starts_with("linux-6.1-");
  EXPECT_EQ(sum_of_statistics(reader_.staging, "zone_watermark_bytes{").count, expected.size() * (is_old ? 3 : 4))
      << "promo came later";
}

TEST_P(CapturedZones, AddUpToTheMemoryOfTheMachine) {
  EXPECT_EQ(sum(Field::kHeldBytes), meminfo(*view_, "MemTotal"));
  EXPECT_EQ(sum(Field::kFree) * 4096, meminfo(*view_, "MemFree")) << "nothing ran between the two reads of this capture";
  EXPECT_EQ(sum(Field::kBytes), meminfo(*view_, "MemTotal") - meminfo(*view_, "MemFree"));
}

TEST_P(CapturedZones, HaveTheirNodes) {
  const std::uint64_t nodes = GetParam().find("2nodes") == std::string::npos ? 1 : 2;
  for (std::uint64_t node = 0; node < 3; ++node) {
    const std::string prefix = "node " + std::to_string(node) + " ";
    std::size_t count = 0;
    for (const MemoryType* type = list_.first(); type != nullptr; type = type->next())
      count += type->name().starts_with(prefix) ? 1 : 0;
    EXPECT_EQ(count > 0, node < nodes) << node;
    if (node >= nodes) continue;
    // The kernel's own sum of the same counters, in other words.
    std::istringstream lines(
        text_of(*view_, ("/sys/devices/system/node/node" + std::to_string(node) + "/numastat").c_str()));
    const std::map<std::string, std::string> kinds{{"numa_hit", "hit"},         {"numa_miss", "miss"},
                                                   {"numa_foreign", "foreign"}, {"interleave_hit", "interleave"},
                                                   {"local_node", "local"},     {"other_node", "other"}};
    std::string key;
    std::size_t found = 0;
    for (std::uint64_t value = 0; lines >> key >> value; ++found) {
      ASSERT_TRUE(kinds.contains(key)) << key;
      const std::uint64_t seen = statistics_["numa_events_total{" + std::to_string(node) + "," + kinds.at(key) + "}"];
      // Thousands of files were read between these two, for which the kernel allocated some pages.
      EXPECT_LE(seen, value) << key;
      EXPECT_LE(value, seen + (kinds.at(key) == "hit" || kinds.at(key) == "local" ? 10'000 : 0)) << key;
      if (key == "numa_hit") {
        EXPECT_GT(seen, 1000U);
      }
    }
    EXPECT_EQ(found, 6U);
  }
}

TEST_P(CapturedZones, HaveFreeBlocksThatAddUpToTheirFreePages) {
  std::map<std::string, std::uint64_t> pages;
  std::map<std::string, std::uint64_t> pages_by_type;
  const std::regex block("buddy_free_blocks\\{(\\d+),([^,]+),(\\d+)\\}");
  const std::regex typed("buddy_free_blocks_by_type\\{(\\d+),([^,]+),([^,]+),(\\d+)\\}");
  for (const auto& [key, count] : statistics_) {
    std::smatch match;
    if (std::regex_match(key, match, block)) {
      pages["node " + match[1].str() + " " + match[2].str()] += count << std::stoul(match[3].str());
    } else if (std::regex_match(key, match, typed)) {
      pages_by_type["node " + match[1].str() + " " + match[2].str()] += count << std::stoul(match[4].str());
    }
  }
  ASSERT_EQ(pages.size(), list_.size());
  EXPECT_EQ(pages_by_type, pages) << "two files";
  for (const auto& [name, count] : pages) {
    const MemoryType* type = list_.find(Allocator::kPage, name);
    ASSERT_NE(type, nullptr) << name;
    // Another counter of the kernel, kept by CPU and folded later.
    EXPECT_NEAR(static_cast<double>(count), static_cast<double>(type->figure(Field::kFree)), 64) << name;
  }
}

TEST_P(CapturedZones, HaveIndicesThatAgreeWithTheirBlocks) {
  std::size_t seen = 0;
  for (const auto& [key, bits] : statistics_) {
    if (!key.starts_with("fragmentation_index{")) continue;
    ++seen;
    const std::string labels = key.substr(key.find('{'));
    const auto index = std::bit_cast<double>(bits);
    const auto unusable = std::bit_cast<double>(statistics_.at("unusable_free_ratio" + labels));
    EXPECT_EQ(index == -1, unusable < 1) << labels << ": what can be met has blocks that are large enough";
    EXPECT_GE(unusable, 0);
    EXPECT_LE(unusable, 1);
    if (labels.ends_with(",0}")) {
      EXPECT_EQ(unusable, 0) << labels;
    }
  }
  EXPECT_EQ(seen, 11 * list_.size());
  for (const MemoryType* type = list_.first(); type != nullptr; type = type->next()) {
    std::string labels(type->name().substr(5));
    labels[labels.find(' ')] = ',';
    EXPECT_EQ(statistics_.at("zone_largest_free_block_bytes{" + labels + "}"), 4096U << 10U);
  }
}

TEST_P(CapturedZones, HaveTheCountersOfTheirKernel) {
  std::istringstream lines(text_of(*view_, kCounterFile));
  std::map<std::string, std::uint64_t> expected;
  std::string key;
  for (std::uint64_t value = 0; lines >> key >> value;) expected[key] = value;
  EXPECT_EQ(statistics_["page_frees_total"], expected["pgfree"]);
  EXPECT_EQ(statistics_["page_allocations_total{DMA32}"], expected["pgalloc_dma32"]);
  EXPECT_GT(expected["pgalloc_dma32"], 1000U);
  EXPECT_EQ(sum_of_statistics(reader_.staging, "page_allocations_total{").count,
            GetParam().find("profiling") == std::string::npos ? 2U : 1U)
      << "no zones that this machine does not have";
  for (const auto& [statistic, counter] :
       std::map<std::string, std::string>{{"compaction_stalls_total", "compact_stall"},
                                          {"compaction_failures_total", "compact_fail"},
                                          {"compaction_successes_total", "compact_success"},
                                          {"page_migration_failures_total", "pgmigrate_fail"},
                                          {"page_allocation_failures_total{thp_fault}", "thp_fault_fallback"},
                                          {"page_allocation_failures_total{cma}", "cma_alloc_fail"},
                                          {"page_allocation_failures_total{hugetlb}", "htlb_buddy_alloc_fail"}}) {
    ASSERT_EQ(statistics_.contains(statistic), expected.contains(counter)) << counter;
    if (expected.contains(counter)) {
      EXPECT_EQ(statistics_[statistic], expected[counter]) << counter;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Captures, CapturedZones, shown_by("linux_page"), name_of_capture);

}  // namespace
}  // namespace memstat::linux_page_test
