// SPDX-License-Identifier: BSD-2-Clause
// The table of slab events, its parsing, and on this machine's kernel a workload of known counts.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/events/attach/live_tables.h"
#include "core/events/slab/slab_rows.h"
#include "core/query.h"
#include "tests/support/fake_kernel_view.h"
#include "tests/support/fixtures.h"
#include "tests/support/live_table.h"
#include "tests/support/source_reading.h"
#include "tests/support/staged_statistics.h"
#include "tests/support/table_text.h"
#include "tests/support/test.h"

namespace memstat::linux_slab_events_test {
namespace {

const SourceDescriptor& source() { return *find_source("linux_slab_events"); }

const std::string kHeader = "slab_events 1\nkmalloc_frees 1\ncounted_by_sysfs 0\nunplaced 0\nmissed 0\n";

class LinuxSlabEvents : public ParsedSource<source> {
 protected:
  /// "name: allocations/frees/allocated/freed/requested/failures" of all types.
  std::string words(const std::string& text) {
    return ParsedSource::words(text, {Field::kNumAllocs, Field::kNumFrees, Field::kMemAlloced, Field::kMemFreed,
                                      Field::kRequestedBytes, Field::kFailures});
  }
};

TEST_F(LinuxSlabEvents, MakesOneTypeOfANameThatComesTwice) {
  const std::string text = kHeader + "type 64 kmalloc-64\ncpu 1 5 2 300 0\ntype 64 kmalloc-64\ncpu 1 0 0 0 3\nend\n";
  EXPECT_EQ(words(text), "kmalloc-64: 5/2/320/128/300/3");
  EXPECT_EQ(reader_.staging.cpu_figure(0, CpuField::kNumAllocs, 1), 5U);
}

TEST_F(LinuxSlabEvents, CountsACpuThatCameAfterTheCpusWereCountedInTheSumsOnly) {
  ASSERT_TRUE(parse(kHeader + "type 8 a\ncpu 4 5 2 30 0\nend\n", 4));
  EXPECT_EQ(reader_.staging.types()[0].figures[Field::kNumAllocs], 5U);
}

TEST_F(LinuxSlabEvents, HasNoFreesIfTheKernelDoesNotReportWhatKfreeFrees) {
  std::string text = kHeader + "type_without_frees 64 kmalloc-64\ncpu 0 5 0 300 0\ntype 192 dentry\ncpu 0 5 2 600 0\nend\n";
  text.replace(text.find("kmalloc_frees 1"), 15, "kmalloc_frees 0");
  EXPECT_EQ(words(text), "kmalloc-64: 5/-/320/-/300/0; dentry: 5/2/960/384/600/0");
  EXPECT_EQ(reader_.staging.cpu_fields(), CpuFieldMask(CpuField::kNumAllocs, CpuField::kMemAlloced));
}

TEST_F(LinuxSlabEvents, LeavesCountsThatTheKernelKeepsSinceBootToTheSourceOfThose) {
  std::string text = kHeader + "type 192 dentry\ncpu 0 5 2 600 1\nend\n";
  text.replace(text.find("counted_by_sysfs 0"), 18, "counted_by_sysfs 1");
  EXPECT_EQ(words(text), "dentry: -/-/960/384/600/1");
  EXPECT_EQ(reader_.staging.omitted_fields(), FieldMask(Field::kNumAllocs, Field::kNumFrees));
  EXPECT_EQ(reader_.staging.cpu_fields(), CpuFieldMask(CpuField::kMemAlloced, CpuField::kMemFreed));
}

TEST_F(LinuxSlabEvents, ReportsEventsThatWereNotCounted) {
  ASSERT_TRUE(parse("slab_events 1\nkmalloc_frees 1\ncounted_by_sysfs 0\nunplaced 7\nmissed 9\ntype 8 a\nend\n"));
  const auto all = statistics_of(reader_.staging);
  EXPECT_EQ(all.at("events_lost_total{unplaced}"), 7U);
  EXPECT_EQ(all.at("events_lost_total{missed}"), 9U);
}

TEST_F(LinuxSlabEvents, StaysAtTheLargestNumber) {
  const std::string most = "18446744073709551615";
  EXPECT_EQ(words(kHeader + "type 8 a\ncpu 0 " + most + " 1 1 1\ncpu 0 1 1 " + most + " 1\nend\n"),
            "a: " + most + "/2/" + most + "/16/" + most + "/2");
}

TEST_F(LinuxSlabEvents, RefusesOtherText) {
  expect_refused("", 0, ErrorCode::kVersion);
  expect_refused("slab_events 2\n", 0, ErrorCode::kVersion);
  expect_refused("slab_events 1\nkmalloc_frees x\n", 14);
  expect_refused(kHeader + "end\n", kHeader.size() + 4);
  expect_refused(kHeader + "cpu 0 1 1 1 1\nend\n", kHeader.size());
  std::string sizes = "sizes slab 900";
  for (int i = 0; i < MEMSTAT_SIZES; ++i) sizes += " 1";
  std::string many = kHeader + "type 8 a\n";
  for (int i = 0; i < 9; ++i) many += sizes + "\n";
  EXPECT_FALSE(parse(many + "end\n")) << "there are not that many allocators";
}

/// The data shared with the programs, filled by hand.
class SlabText : public testing::Test {
 protected:
  memstat_slab_slot& claim(std::size_t at, std::uint64_t key, std::uint32_t size, std::string_view name) {
    shared_->keys[at] = key;
    memstat_slab_slot& slot = shared_->slots[at];
    slot.is_known = 1;
    slot.size = size;
    slot.object_size = size - 4;
    name.copy(slot.name, sizeof slot.name);
    return slot;
  }
  std::string text(events::SlabFacts facts = {.has_kmalloc_frees = true}) {
    events::write_slab_rows(*shared_, cpus_, facts, out_);
    return text_of(events::kSlabTable, out_);
  }
  /// The text between the header and the events of all caches.
  std::string rows(events::SlabFacts facts = {.has_kmalloc_frees = true}) {
    std::string all = text(facts);
    const std::size_t begin = all.find("missed ");
    const std::size_t first = all.find('\n', begin) + 1;
    return all.substr(first, all.find("event ", first) - first);
  }

  std::unique_ptr<memstat_slab_slots> shared_ = std::make_unique<memstat_slab_slots>();
  std::vector<memstat_slab_cpu> cpus_{2};
  Buffer out_;
};

TEST_F(SlabText, HasTheRowsOfEachCpu) {
  claim(3, 0xffff888100042a00, 192, "dentry");
  shared_->unplaced_events = 12;
  cpus_[1].rows[3] = {.cache_allocations = 5,
                      .cache_failures = 1,
                      .cache_frees = 2,
                      .kmalloc_allocations = 1,
                      .kmalloc_requested = 100,
                      .kmalloc_failures = 2,
                      .kmalloc_frees = 3,
                      .scratch = 77};
  EXPECT_EQ(text({.has_kmalloc_frees = true, .missed_events = 4}),
            "slab_events 1\nkmalloc_frees 1\ncounted_by_sysfs 0\nunplaced 12\nmissed 4\ntype 192 dentry\ncpu 1 6 5 1040 3\n"
            "event kmem_cache_alloc 5 940\nevent kmem_cache_alloc_node 0\nevent kmem_cache_alloc_failure 1\nevent "
            "kmem_cache_free 2\n"
            "event kmalloc 1 100\nevent kmalloc_node 0\nevent kmalloc_failure 2\nevent kfree 3\nend\n");
}

TEST_F(SlabText, AddsUpClassesOfFlagsWhereTheyAreCounted) {
  cpus_[0].totals.cache_by_gfp.allocations[MEMSTAT_GFP_KERNEL] = 2;
  cpus_[1].totals.kmalloc_by_gfp.allocations[MEMSTAT_GFP_KERNEL] = 3;
  cpus_[1].totals.kmalloc_by_gfp.failures[MEMSTAT_GFP_ATOMIC] = 1;
  EXPECT_EQ(text({}).find("gfp"), std::string::npos);
  const std::string all = text({.has_gfp_classes = true});
  EXPECT_NE(all.find("gfp slab atomic 0 1\n"), std::string::npos) << all;
  EXPECT_NE(all.find("gfp slab kernel 5 0\n"), std::string::npos) << all;
  EXPECT_NE(all.find("gfp slab dma 0 0\n"), std::string::npos) << all;
}

TEST_F(SlabText, NamesTheCacheOfAKmallocByItsSizeAndKind) {
  const auto key = [](std::uint64_t size, std::uint64_t kind) { return size * MEMSTAT_SLAB_KINDS + kind; };
  claim(1, key(96, 0), 96, "");
  claim(2, key(1024, 1), 1024, "");
  claim(3, key(8192, 2), 8192, "");
  claim(4, key(512, 3), 512, "");
  EXPECT_EQ(rows(), "type 96 kmalloc-96\ntype 1024 kmalloc-rcl-1k\ntype 8192 kmalloc-cg-8k\ntype 512 dma-kmalloc-512\n");
  EXPECT_EQ(rows({}).substr(0, 33), "type_without_frees 96 kmalloc-96\n");
}

TEST_F(SlabText, OmitsUnknownCaches) {
  claim(1, 0xffff888100042a00, 192, "dentry").is_known = 0;
  claim(2, MEMSTAT_SLAB_FORGOTTEN, 192, "destroyed");
  claim(3, 0xffff888100042b00, 192, "");
  EXPECT_EQ(rows(), "");
}

TEST_F(SlabText, KeepsANameOnItsLineAndWithinItsBounds) {
  claim(1, 0xffff888100042a00, 8, "a\nb");
  std::string longest(MEMSTAT_SLAB_NAME_SIZE, 'x');
  claim(2, 0xffff888100042b00, 8, longest);
  EXPECT_EQ(rows(), "type 8 a?b\ntype 8 " + longest + "\n");
}

TEST_F(SlabText, CountsEventsWithoutACacheAndOfVanishedCaches) {
  claim(2, MEMSTAT_SLAB_FORGOTTEN, 192, "destroyed");
  cpus_[0].rows[2].cache_allocations = 4;
  memstat_slab_totals& totals = cpus_[0].totals;
  totals.cache_on_node = 2;
  totals.kmalloc_on_node = 1;
  totals.large_requested = 30'000;
  totals.large_failures = 5;
  totals.large_frees = 6;
  totals.large_allocations[0] = 1;
  cpus_[1].totals.large_allocations[0] = 1;
  cpus_[1].totals.large_allocations[MEMSTAT_SLAB_LARGE_SIZES - 1] = 1;
  const std::string all = text();
  EXPECT_EQ(all.substr(all.find("event ")),
            "event kmem_cache_alloc 4 752\nevent kmem_cache_alloc_node 2\nevent kmem_cache_alloc_failure 0\n"
            "event kmem_cache_free 0\nevent kmalloc 3 30000\nevent kmalloc_node 1\nevent kmalloc_failure 5\nevent kfree 6\n"
            "large 16384 2\nlarge 8388608 1\nend\n");
}

/// The governor's count: an event on a node counts, and so does one of a cache that is gone.
TEST_F(SlabText, CountsEachEventOnce) {
  claim(1, 0xffff888100042a00, 192, "dentry");
  claim(2, MEMSTAT_SLAB_FORGOTTEN, 192, "destroyed");
  memstat_slab_row& row = cpus_[0].rows[1];
  row.cache_allocations = 5;
  row.cache_frees = 2;
  row.kmalloc_allocations = 1;
  row.kmalloc_frees = 3;
  cpus_[1].rows[2].cache_allocations = 4;
  cpus_[1].totals.cache_on_node = 2;
  cpus_[1].totals.large_allocations[0] = 10;
  cpus_[1].totals.large_frees = 6;
  EXPECT_EQ(events::count_slab_events(*shared_, cpus_), 5U + 2 + 1 + 3 + 4 + 10 + 6);
}

TEST(LinuxSlabEventsBeside, SysfsLeaveItTheCountsThatTheKernelDoesNotKeep) {
  const auto view = open_fixture("linux-6.12-4cpu.tar.zst");  // without CONFIG_SLUB_STATS
  SourceReader roster(*find_source("linux_slabinfo"));
  SourceReader sysfs(*find_source("linux_slab_sysfs"));
  SourceReader reader(source());
  MemoryTypeList list;
  ASSERT_TRUE(refresh(roster, *view, list, 1));
  ASSERT_TRUE(open_source(sysfs, *view));
  reader.raw.parts[0].assign(kHeader + "type 192 dentry\ncpu 0 5 2 600 1\nend\n");
  reader.raw.cpu_count = 4;
  ASSERT_TRUE(commit_source(reader, list, 1));
  ASSERT_TRUE(refresh(sysfs, *view, list, 1));
  const MemoryType* const dentry = list.find(Allocator::kSlab, "dentry");
  EXPECT_TRUE(dentry->fields().has(Field::kSlabs)) << "what sysfs has";
  EXPECT_EQ(dentry->figure(Field::kNumAllocs), 5U);
  EXPECT_EQ(dentry->cpu_figure(CpuField::kNumAllocs, 0), 5U);
}

// ---- this machine's kernel -----------------------------------------------------------------------------------------------

/// Allocations and frees of one cache, as in the table now.
struct Counts {
  std::uint64_t allocations = 0;
  std::uint64_t frees = 0;
};

class LiveSlabEvents : public testing::Test {
 protected:
  void SetUp() override { open_or_skip(*table_); }
  Counts counts_of(const std::string& cache) {
    const auto result = table_->read(reader_.raw.parts[0]);
    EXPECT_TRUE(result);
    reader_.raw.cpu_count = 4096;
    const auto parsed = parse_source(reader_);
    EXPECT_TRUE(parsed) << to_string(parsed.error());
    Counts counts;
    for (const StagedType& type : reader_.staging.types()) {
      if (type.name == cache) counts = {type.figures[Field::kNumAllocs], type.figures[Field::kNumFrees]};
    }
    return counts;
  }

  std::unique_ptr<TextTableSource> table_ = events::make_slab_events(kWithoutLimit);
  SourceReader reader_{source()};
};

/// Watches a directory for changes with fcntl(2): each call takes one dnotify_struct, and frees it at once
/// because the descriptor already has one. No other program does that, so the counts are exactly ours.
void watch_directory(int descriptor, int times) {
  for (int i = 0; i < times; ++i) ASSERT_EQ(::fcntl(descriptor, F_NOTIFY, DN_CREATE | DN_MULTISHOT), 0);
}

TEST_F(LiveSlabEvents, CountTheObjectsOfACacheExactly) {
  const std::string cache = "dnotify_struct";
  if (!has_slab_cache(cache)) GTEST_SKIP() << "this kernel has no slab cache " << cache << " of its own";
  constexpr int kTimes = 100'000;
  const int descriptor = ::open("/", O_RDONLY | O_DIRECTORY);
  ASSERT_GE(descriptor, 0);
  const Counts before = counts_of(cache);
  watch_directory(descriptor, kTimes);
  const Counts after = counts_of(cache);
  ::close(descriptor);
  const Counts closed = counts_of(cache);
  EXPECT_EQ(after.allocations - before.allocations, static_cast<std::uint64_t>(kTimes));
  EXPECT_EQ(after.frees - before.frees, static_cast<std::uint64_t>(kTimes) - 1);
  EXPECT_EQ(closed.allocations - before.allocations, static_cast<std::uint64_t>(kTimes));
  EXPECT_EQ(closed.frees - before.frees, static_cast<std::uint64_t>(kTimes));
}

TEST_F(LiveSlabEvents, CountTheFilesAndSocketsThatWeOpen) {
  constexpr std::uint64_t kTimes = 20'000;
  const Counts files = counts_of("filp");
  const Counts sockets = counts_of("sock_inode_cache");
  for (std::uint64_t i = 0; i < kTimes; ++i) {
    int pair[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    ::close(pair[0]);
    ::close(pair[1]);
  }
  // Others also open files, so these are minimums.
  EXPECT_GE(counts_of("filp").allocations - files.allocations, 2 * kTimes);
  EXPECT_GE(counts_of("sock_inode_cache").allocations - sockets.allocations, 2 * kTimes);
}

TEST_F(LiveSlabEvents, CountEachAllocationByItsSizeInModeFull) {
  table_ = events::make_slab_events("full 1000000000");
  ASSERT_TRUE(table_->open());
  for (int i = 0; i < 1000; ++i) ::close(::open("/", O_RDONLY));
  // The kernel continues to count during a read, which may take long if others use the processor: one of many must be near.
  std::uint64_t count = 0;
  std::uint64_t events = 0;
  for (int round = 0; round < 100; ++round) {
    counts_of("");
    count = 0;
    const StagedStatistics& statistics = reader_.staging.statistics();
    for (const StagedStatistics::Entry& entry : statistics.entries()) {
      if (!entry.is_histogram) continue;
      for (const std::uint64_t bucket : statistics.histogram(entry).counts) count += bucket;
    }
    EXPECT_GT(count, 1000U);
    const auto all = statistics_of(reader_.staging);
    events = all.at("vm_events_total{kmalloc}") + all.at("vm_events_total{kmem_cache_alloc}");
    if (std::max(count, events) - std::min(count, events) <= events / 100) return;
  }
  ADD_FAILURE() << count << " of " << events << " events";
}

TEST_F(LiveSlabEvents, AreGoneForGoodWhenTheyTakeMoreThanTheBudget) {
  events::EventBudget budget(0);  // nothing to begin with
  const auto table = events::make_slab_events("counters 100", budget);
  ASSERT_TRUE(table->open());
  for (int i = 0; i < 20'000; ++i) ::close(::open("/", O_RDONLY));
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(table->read(reader_.raw.parts[0]));
    EXPECT_NE(text_of(events::kSlabTable, reader_.raw.parts[0]).find("\ngovernor 0 "), std::string::npos);
    ASSERT_TRUE(parse_source(reader_));
    EXPECT_TRUE(reader_.staging.types().empty());
  }
}

TEST(LiveSlabEventsRefused, SayWhatTheyNeed) {
  expect_says_what_it_needs([] { return events::make_slab_events(kWithoutLimit); });
}

}  // namespace
}  // namespace memstat::linux_slab_events_test
