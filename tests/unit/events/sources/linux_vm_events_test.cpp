// SPDX-License-Identifier: BSD-2-Clause
// The text of events of memory management from what the programs counted, and its parsing.
#include "core/events/vm/vm_rows.h"
#include "core/query.h"
#include "tests/support/fixtures.h"
#include "tests/support/source_reading.h"
#include "tests/support/staged_statistics.h"
#include "tests/support/table_text.h"
#include "tests/support/test.h"

namespace memstat::linux_vm_events_test {
namespace {

const SourceDescriptor& vm_source() { return *find_source("linux_vm_events"); }

const std::string kVmHeader = "vm_events 1\nmissed 0\nby_cache 1\n";

class LinuxVmEvents : public ParsedSource<vm_source> {
 protected:
  std::uint64_t statistic(const std::string& words) const { return statistics_of(reader_.staging).at(words); }
  bool has_statistic(const std::string& words) const { return statistics_of(reader_.staging).contains(words); }
};

TEST_F(LinuxVmEvents, ThatThisKernelLacksAreReportedMissingNot0) {
  ASSERT_TRUE(parse(kVmHeader + "unsupported vmalloc_failure: this kernel has no tracepoint x\nevent oom_kill 0\nend\n"));
  EXPECT_EQ(reader_.staging.note(), "vmalloc_failure: this kernel has no tracepoint x");
  EXPECT_FALSE(has_statistic("vm_events_total{vmalloc_failure}"));
}

TEST(GfpClasses, AreOfWhatTheCallerAllows) {
  const memstat_gfp_flags gfp{.dma = 0x5,
                              .high = 0x20,
                              .direct_reclaim = 0x400,
                              .kswapd_reclaim = 0x800,
                              .io = 0x40,
                              .fs = 0x80,
                              .hardwall = 0x100000,
                              .is_wanted = 1};
  const auto expect = [&gfp](unsigned long long flags, memstat_gfp_class expected) {
    EXPECT_EQ(memstat_gfp_class_of(flags, &gfp), static_cast<unsigned>(expected)) << flags;
  };
  expect(0x820, MEMSTAT_GFP_ATOMIC);  // GFP_ATOMIC
  expect(0x800, MEMSTAT_GFP_NOWAIT);  // GFP_NOWAIT
  expect(0, MEMSTAT_GFP_OTHER);
  expect(0xc00, MEMSTAT_GFP_NOIO);       // GFP_NOIO
  expect(0xc40, MEMSTAT_GFP_NOFS);       // GFP_NOFS
  expect(0xcc0, MEMSTAT_GFP_KERNEL);     // GFP_KERNEL
  expect(0x400dc0, MEMSTAT_GFP_KERNEL);  // GFP_KERNEL_ACCOUNT | __GFP_ZERO
  expect(0x100cca, MEMSTAT_GFP_USER);    // GFP_HIGHUSER_MOVABLE
  expect(0xcc1, MEMSTAT_GFP_DMA);        // GFP_KERNEL | GFP_DMA
  expect(0x824, MEMSTAT_GFP_DMA);        // GFP_ATOMIC | GFP_DMA32
}

TEST(TimeBuckets, AreUpToTheirBounds) {
  double bound = 1e9 / (1U << 22U);
  for (unsigned bucket = 0; bucket + 1 < MEMSTAT_TIMES; ++bucket, bound *= 2) {
    const auto below = static_cast<unsigned long long>(bound);
    EXPECT_EQ(memstat_time_bucket(below), bucket) << below;
    EXPECT_EQ(memstat_time_bucket(below + 1), bucket + 1) << below + 1;
  }
  EXPECT_EQ(memstat_time_bucket(0), 0U);
  for (const unsigned long long longest : {1ULL << 35U, 1ULL << 39U, (1ULL << 40U) - 1, 1ULL << 40U, ~0ULL})
    EXPECT_EQ(memstat_time_bucket(longest), MEMSTAT_TIMES - 1U) << longest;
}

TEST(SizeBuckets, AreUpToTheirBounds) {
  for (unsigned bucket = 0; bucket + 1 < MEMSTAT_SIZES; ++bucket) {
    const unsigned long long bound = 8ULL << bucket;
    EXPECT_EQ(memstat_size_bucket(bound), bucket) << bound;
    EXPECT_EQ(memstat_size_bucket(bound + 1), bucket + 1) << bound;
  }
  EXPECT_EQ(memstat_size_bucket(0), 0U);
  EXPECT_EQ(memstat_size_bucket(~0ULL), MEMSTAT_SIZES - 1U);
}

TEST_F(LinuxVmEvents, FailuresOfACacheAreFailuresOfItsType) {
  ASSERT_TRUE(parse(kVmHeader + "event slab_failure 9\ncache 5 dentry\ncache 3 a b\ncache 1 dentry\nother_cache 1\nend\n"));
  const auto& types = reader_.staging.types();
  ASSERT_EQ(types.size(), 2U);
  EXPECT_EQ(types[0].name, "dentry");
  EXPECT_EQ(types[0].figures[Field::kFailures], 6U);
  EXPECT_EQ(types[0].fields, FieldMask(Field::kFailures));
  EXPECT_EQ(types[1].name, "a b");
  EXPECT_TRUE(reader_.staging.omitted_fields().empty());
}

TEST_F(LinuxVmEvents, LeaveFailuresByCacheToTheEventsOfCaches) {
  ASSERT_TRUE(parse("vm_events 1\nmissed 0\nby_cache 0\nevent slab_failure 9\nend\n"));
  EXPECT_EQ(reader_.staging.omitted_fields(), FieldMask(Field::kFailures));
}

TEST_F(LinuxVmEvents, NameTheCommandsOfVictims) {
  ASSERT_TRUE(parse(kVmHeader + "victim 2 java\nvictim 1 a b\nvictim 1 java\nother_victim 4\nend\n"));
  EXPECT_EQ(statistic("oom_victims_total{java}"), 3U);
  EXPECT_EQ(statistic("oom_victims_total{a b}"), 1U);
  EXPECT_EQ(statistic("oom_victims_total{other}"), 4U);
  ASSERT_TRUE(parse(kVmHeader + "victim 2 other\nother_victim 4\nend\n"));
  EXPECT_EQ(statistic("oom_victims_total{other}"), 6U) << "a command of that name is not a second series";
  EXPECT_TRUE(has_unique_statistics(reader_.staging));
}

/// A row of counts: numbers, as many as there are buckets.
std::string buckets(const std::string& start, int count) {
  std::string line = start;
  for (int i = 0; i < count; ++i) line += " " + std::to_string(i);
  return line;
}

TEST_F(LinuxVmEvents, RefuseLinesOfNoProgram) {
  const std::string sizes = buckets("sizes percpu 4096", MEMSTAT_SIZES);
  const std::string times = buckets("fault_times major 2500000000", MEMSTAT_TIMES);
  ASSERT_TRUE(parse(kVmHeader + sizes + "\n" + times + "\nend\n"));
  for (const std::string& line : {std::string("cpu_event mmap 65536 1"), buckets("sizes percpu 4096", MEMSTAT_SIZES - 1),
                                  sizes + " 1", buckets("fault_times major 1", MEMSTAT_TIMES - 1), times + " 1"})
    expect_refused(kVmHeader + line + "\nend\n", kVmHeader.size());
  for (const auto& [first, second] : {std::pair<std::string, std::string>{"cpu_event mmap 1 1", "cpu_event mmap 1 1"},
                                      {"cpu_event mmap 1 1", "cpu_event mmap 0 1"},
                                      {"gfp page user 1 1", "gfp page user 1 1"},
                                      {"untimed 1", "untimed 1"},
                                      {sizes, sizes},
                                      {times, times}})
    expect_refused(kVmHeader + first + "\n" + second + "\nend\n", kVmHeader.size() + first.size() + 1);
}

TEST_F(LinuxVmEvents, RefuseMoreLinesThanThePrograms) {
  const std::tuple<int, std::string, std::string> kinds[] = {{65, "victim 1 v", ""},
                                                             {65, "event v", " 1"},
                                                             {65, "cpu_event e", " 0 1"},
                                                             {17, "gfp page c", " 1 1"},
                                                             {9, "fault_times t", buckets(" 1", MEMSTAT_TIMES)},
                                                             {145, "pages ", " movable 1"}};
  for (const auto& [count, begin, end] : kinds) {
    std::string text = kVmHeader;
    for (int i = 0; i < count; ++i) text += begin + std::to_string(i) + end + "\n";
    EXPECT_FALSE(parse(text + "end\n")) << begin;
  }
}

TEST_F(LinuxVmEvents, HaveEachSeriesOnce) {
  const std::string twice =
      "event percpu_failure 2 4096\nfault read 3\npages 0 movable 7\npage_failures 3 4\nvictim 2 a\\x01\nvictim 2 a\x01\n";
  ASSERT_TRUE(parse(kVmHeader + twice + twice + "end\n"));
  EXPECT_TRUE(has_unique_statistics(reader_.staging));
  EXPECT_EQ(statistic("oom_victims_total{a\\x01}"), 8U);
}

TEST_F(LinuxVmEvents, StayAtTheLargestNumber) {
  const std::string most = "18446744073709551615";
  ASSERT_TRUE(parse(kVmHeader + "victim " + most + " a\nvictim 1 a\ncache " + most + " a\ncache 1 a\nend\n"));
  EXPECT_EQ(std::to_string(statistic("oom_victims_total{a}")), most);
  EXPECT_EQ(std::to_string(reader_.staging.types()[0].figures[Field::kFailures]), most);
}

/// The data shared with the programs, filled by hand.
class VmText : public testing::Test {
 protected:
  std::string text() {
    events::write_vm_rows(*shared_, cpus_, facts_, out_);
    return text_of(events::kVmTable, out_);
  }
  static void name(memstat_vm_name& place, std::uint64_t count, std::string_view name) {
    place.state = 2;
    place.count = count;
    name.copy(place.name, sizeof place.name);
  }

  std::unique_ptr<memstat_vm_shared> shared_ = std::make_unique<memstat_vm_shared>();
  std::vector<memstat_vm_cpu> cpus_{2};
  events::VmFacts facts_;
  Buffer out_;
};

TEST_F(VmText, HasTheSumsOverAllCpus) {
  facts_.counted.set(MEMSTAT_VM_OOM_KILL).set(MEMSTAT_VM_PERCPU_FAILURE);
  facts_.unsupported = {"slab_failure: why"};
  facts_.missed_events = 4;
  cpus_[0].events[MEMSTAT_VM_OOM_KILL].count = 1;
  cpus_[1].events[MEMSTAT_VM_OOM_KILL].count = 2;
  cpus_[1].events[MEMSTAT_VM_PERCPU_FAILURE] = {.count = 1, .bytes = 64};
  cpus_[1].events[MEMSTAT_VM_PAGE_FAILURE].count = 9;
  EXPECT_EQ(text(),
            "vm_events 1\nmissed 4\nby_cache 0\nunsupported slab_failure: why\nevent oom_kill 3\nevent percpu_failure 1 "
            "64\nend\n");
}

TEST_F(VmText, HasNamesThatAreWholeOnALineEach) {
  facts_.has_victims = true;
  facts_.has_cache_failures = true;
  name(shared_->victims.names[0], 3, "a\nb");
  name(shared_->victims.names[1], 1, "half");
  shared_->victims.names[1].state = 1;
  name(shared_->caches.names[0], 2, std::string(MEMSTAT_VM_NAME_SIZE, 'x'));
  shared_->caches.others = 5;
  EXPECT_EQ(text(), "vm_events 1\nmissed 0\nby_cache 1\nvictim 3 a?b\ncache 2 " + std::string(MEMSTAT_VM_NAME_SIZE, 'x') +
                        "\nother_cache 5\nend\n");
}

TEST_F(VmText, AddsFaultsThatTheKernelCountedAndThoseOfTheCpu) {
  facts_.counted.set(MEMSTAT_VM_FAULT_READ).set(MEMSTAT_VM_FAULT_WRITE).set(MEMSTAT_VM_FAULT_MINOR);
  cpus_[0].events[MEMSTAT_VM_FAULT_READ].count = 1;
  cpus_[0].user_faults[0] = 10;
  cpus_[1].kernel_faults[0] = 100;
  cpus_[1].kernel_faults[1] = 7;
  facts_.minor_faults = 55;
  EXPECT_EQ(text(), "vm_events 1\nmissed 0\nby_cache 0\nfault read 111\nfault write 7\nfault minor 55\nend\n");
}

/// The governor counts the runs of programs; the run that counts a fault also counts its outcome.
TEST_F(VmText, CountsAFaultOnceWhateverItsOutcome) {
  cpus_[0].events[MEMSTAT_VM_MMAP].count = 5;
  cpus_[1].events[MEMSTAT_VM_FAULT_WRITE].count = 2;
  cpus_[1].events[MEMSTAT_VM_FAULT_MINOR].count = 2;
  cpus_[1].events[MEMSTAT_VM_FAULT_SIGBUS].count = 1;
  cpus_[1].user_faults[0] = 10;
  cpus_[1].kernel_faults[1] = 20;
  EXPECT_EQ(events::count_vm_events(cpus_), 5U + 2 + 10 + 20);
}

TEST_F(VmText, HasNoLengthOfBrkWhereItIsNotKnown) {
  facts_.counted.set(MEMSTAT_VM_BRK).set(MEMSTAT_VM_MMAP);
  facts_.has_brk_length = false;
  EXPECT_EQ(text(), "vm_events 1\nmissed 0\nby_cache 0\nevent mmap 0 0\nevent brk 0\nend\n");
}

TEST_F(VmText, HasPagesByOrderAndMigrateType) {
  facts_.has_pages = true;
  facts_.migrate_types[1] = "movable";
  cpus_[0].pages[0][1] = 2;
  cpus_[1].pages[0][1] = 3;
  cpus_[1].pages[9][7] = 1;
  cpus_[1].page_failures[9] = 4;
  EXPECT_EQ(text(), "vm_events 1\nmissed 0\nby_cache 0\npages 0 movable 5\npages 9 unknown 1\npage_failures 9 4\nend\n");
}

TEST_F(VmText, HasSizesOfTheAllocatorsThatAreCounted) {
  facts_.has_sizes = true;
  facts_.counted.set(MEMSTAT_VM_PAGE_ALLOC).set(MEMSTAT_VM_VMALLOC);
  cpus_[0].pages[1][0] = 2;
  cpus_[1].pages[1][1] = 1;
  cpus_[1].events[MEMSTAT_VM_PAGE_ALLOC] = {.count = 3, .bytes = 24576};
  cpus_[0].vmalloc_sizes[MEMSTAT_SIZES - 1] = 5;
  cpus_[0].percpu_sizes[0] = 7;
  const std::string written = text();
  EXPECT_NE(written.find("\nsizes page 24576 0 0 0 0 0 0 0 0 0 0 3 0 "), std::string::npos) << written;
  EXPECT_NE(written.find(" 0 0 5\n"), std::string::npos) << written;
  EXPECT_EQ(written.find("percpu"), std::string::npos) << written;
}

TEST_F(VmText, HasThePartsOfCpusThatCountedAny) {
  facts_.counted.set(MEMSTAT_VM_MMAP).set(MEMSTAT_VM_FAULT_READ).set(MEMSTAT_VM_FAULT_MINOR);
  facts_.has_cpus = true;
  facts_.minor_faults = 9;
  cpus_[1].events[MEMSTAT_VM_MMAP] = {.count = 2, .bytes = 64};
  cpus_[0].user_faults[0] = 3;
  cpus_[1].kernel_faults[0] = 1;
  EXPECT_EQ(text(),
            "vm_events 1\nmissed 0\nby_cache 0\ncpu_fault read 0 3\ncpu_fault read 1 1\nfault read 4\nfault minor 9\n"
            "cpu_event mmap 1 2\nevent mmap 2 64\nend\n");
}

TEST_F(VmText, HasPagesByClassWhereTheyAreCounted) {
  facts_.has_gfp_classes = true;
  cpus_[0].pages_by_gfp.allocations[MEMSTAT_GFP_USER] = 2;
  cpus_[1].pages_by_gfp.allocations[MEMSTAT_GFP_USER] = 3;
  cpus_[1].pages_by_gfp.failures[MEMSTAT_GFP_ATOMIC] = 1;
  EXPECT_EQ(text().find("gfp"), std::string::npos) << "mode failures sees no page that is given";
  facts_.has_pages = true;
  EXPECT_EQ(text(),
            "vm_events 1\nmissed 0\nby_cache 0\ngfp page dma 0 0\ngfp page atomic 0 1\ngfp page nowait 0 0\n"
            "gfp page other 0 0\ngfp page noio 0 0\ngfp page nofs 0 0\ngfp page user 5 0\ngfp page kernel 0 0\nend\n");
}

TEST_F(VmText, HasTimesOfTheOutcomesThatAreTimed) {
  facts_.counted.set(MEMSTAT_VM_TIME_MAJOR);
  cpus_[0].fault_times[1] = {.sum_ns = 300, .counts = {0, 1}};
  cpus_[1].fault_times[1] = {.sum_ns = 100, .counts = {1}};
  cpus_[1].fault_times[0] = {.sum_ns = 7, .counts = {1}};
  cpus_[1].untimed_faults = 2;
  std::string expected = "vm_events 1\nmissed 0\nby_cache 0\nfault_times major 400 1 1";
  for (int i = 2; i < MEMSTAT_TIMES; ++i) expected += " 0";
  EXPECT_EQ(text(), expected + "\nuntimed 2\nend\n");
}

TEST_F(VmText, OfEveryEventIsTakenByTheParser) {
  facts_.counted.set();
  facts_.has_sizes = true;
  facts_.has_victims = true;
  cpus_[0].untimed_faults = 1;
  SourceReader reader(vm_source());
  reader.raw.parts[0].assign(text());
  const auto result = parse_source(reader);
  ASSERT_TRUE(result) << to_string(result.error());
  EXPECT_EQ(sum_of_statistics(reader.staging, "vm_events_total{").count +
                sum_of_statistics(reader.staging, "page_faults_total{").count,
            static_cast<std::size_t>(MEMSTAT_VM_EVENTS - MEMSTAT_VM_OUTCOMES));
  EXPECT_EQ(statistics_of(reader.staging).at("events_lost_total{untimed}"), 1U);
}

}  // namespace
}  // namespace memstat::linux_vm_events_test
