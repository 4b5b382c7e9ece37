// SPDX-License-Identifier: BSD-2-Clause
// The table of slab events, its parsing, and on this machine's kernel a workload of known counts.
#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
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

TEST_F(LinuxSlabEvents, AddsUpTheCpusOfAType) {
  EXPECT_EQ(words(kHeader + "type 192 dentry\ncpu 0 5 2 600 1\ncpu 3 1 4 120 0\ntype 64 a cache with blanks\nend\n"),
            "dentry: 6/6/1152/1152/720/1; a cache with blanks: 0/0/0/0/0/0");
  ASSERT_TRUE(parse(kHeader + "type 192 dentry\ncpu 0 5 2 600 1\ncpu 3 1 4 120 0\nend\n"));
  EXPECT_EQ(reader_.staging.cpu_figure(0, CpuField::kNumAllocs, 0), 5U);
  EXPECT_EQ(reader_.staging.cpu_figure(0, CpuField::kNumFrees, 3), 4U);
  EXPECT_EQ(reader_.staging.cpu_figure(0, CpuField::kMemFreed, 3), 768U);
  EXPECT_EQ(reader_.staging.cpu_figure(0, CpuField::kMemAlloced, 1), 0U);
}

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
  const auto& entries = reader_.staging.statistics().entries();
  ASSERT_GE(entries.size(), 2U);
  EXPECT_EQ(entries[0].bits, 7U);
  EXPECT_EQ(reader_.staging.statistics().label(entries[0], 0), "unplaced");
  EXPECT_EQ(entries[1].bits, 9U);
  EXPECT_EQ(reader_.staging.statistics().label(entries[1], 0), "missed");
}

TEST_F(LinuxSlabEvents, HasEventsOfAllCaches) {
  ASSERT_TRUE(parse(kHeader + "type 192 dentry\ncpu 0 5 2 600 1\nevent kmalloc 7 900\nevent kfree 3\nlarge 16384 2\nend\n"));
  const auto all = statistics_of(reader_.staging);
  EXPECT_EQ(all.at("vm_events_total{kmalloc}"), 7U);
  EXPECT_EQ(all.at("vm_event_bytes_total{kmalloc}"), 900U);
  EXPECT_EQ(all.at("vm_events_total{kfree}"), 3U);
}

TEST_F(LinuxSlabEvents, HasAllocationsBySize) {
  std::string sizes = "sizes slab 900";
  for (int i = 0; i < MEMSTAT_SIZES; ++i) sizes += i == 3 ? " 7" : " 0";
  ASSERT_TRUE(parse(kHeader + "type 8 a\n" + sizes + "\nend\n"));
  const StagedStatistics& statistics = reader_.staging.statistics();
  const StagedStatistics::Entry& entry = statistics.entries().back();
  ASSERT_TRUE(entry.is_histogram);
  EXPECT_EQ(statistics.label(entry, 0), "slab");
  EXPECT_EQ(statistics.histogram(entry).counts[3], 7U);
  std::string many = kHeader + "type 8 a\n";
  for (int i = 0; i < 9; ++i) many += sizes + "\n";
  EXPECT_FALSE(parse(many + "end\n")) << "there are not that many allocators";
}

TEST_F(LinuxSlabEvents, NeverReportsMemoryInUse) {
  ASSERT_TRUE(parse(kHeader + "type 192 dentry\ncpu 0 5 2 600 1\nend\n"));
  for (const Field field : {Field::kBytes, Field::kCount, Field::kHeldBytes, Field::kFree}) {
    EXPECT_FALSE(source().fields.has(field)) << "frees in bulk and after a grace period have no event";
    EXPECT_FALSE(reader_.staging.types()[0].fields.has(field));
  }
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
  cpus_[1].rows[3] = {.cache_allocations = 5,
                      .cache_failures = 1,
                      .cache_frees = 2,
                      .kmalloc_allocations = 1,
                      .kmalloc_requested = 100,
                      .kmalloc_failures = 2,
                      .kmalloc_frees = 3,
                      .scratch = 77};
  EXPECT_EQ(text({.has_kmalloc_frees = true, .missed_events = 4}),
            "slab_events 1\nkmalloc_frees 1\ncounted_by_sysfs 0\nunplaced 0\nmissed 4\ntype 192 dentry\ncpu 1 6 5 1040 3\n"
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

TEST_F(SlabText, ReportsTheEventsOfAFullTable) {
  shared_->unplaced_events = 12;
  EXPECT_NE(text().find("\nunplaced 12\n"), std::string::npos);
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
  const MemoryType* dentry = list.first();
  while (dentry != nullptr && dentry->name() != "dentry") dentry = dentry->next();
  ASSERT_NE(dentry, nullptr);
  EXPECT_TRUE(dentry->fields().has(Field::kSlabs)) << "what sysfs has";
  EXPECT_TRUE(dentry->fields().has(Field::kNumAllocs));
  EXPECT_EQ(dentry->figure(Field::kNumAllocs), 5U);
  EXPECT_EQ(dentry->figure(Field::kFailures), 1U);
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
  std::uint64_t on_cpu(const std::string& cache, std::uint32_t cpu) {
    counts_of(cache);
    for (std::size_t i = 0; i < reader_.staging.types().size(); ++i) {
      if (reader_.staging.types()[i].name == cache) return reader_.staging.cpu_figure(i, CpuField::kNumAllocs, cpu);
    }
    return 0;
  }

  /// Expects that `counted` after a read nearly equals all allocations. The kernel continues to count during the read, which
  /// may take long if others use the processor: one read of many must be near.
  void expect_near_all_events(const std::function<std::uint64_t(const SourceReader&)>& counted) {
    std::uint64_t count = 0;
    std::uint64_t events = 0;
    for (int round = 0; round < 100; ++round) {
      ASSERT_TRUE(table_->read(reader_.raw.parts[0]));
      ASSERT_TRUE(parse_source(reader_));
      count = counted(reader_);
      const auto all = statistics_of(reader_.staging);
      events = all.at("vm_events_total{kmalloc}") + all.at("vm_events_total{kmem_cache_alloc}");
      if (std::max(count, events) - std::min(count, events) <= events / 100) return;
    }
    ADD_FAILURE() << count << " of " << events << " events";
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

TEST_F(LiveSlabEvents, CountOnTheCpuThatTheyHappenOn) {
  const std::string cache = "dnotify_struct";
  if (!has_slab_cache(cache)) GTEST_SKIP() << "this kernel has no slab cache " << cache << " of its own";
  cpu_set_t allowed;
  ASSERT_EQ(::sched_getaffinity(0, sizeof allowed, &allowed), 0);
  const int descriptor = ::open("/", O_RDONLY | O_DIRECTORY);
  for (std::uint32_t cpu = 0, tried = 0; cpu < CPU_SETSIZE && tried < 4; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    ++tried;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    const std::uint64_t before = on_cpu(cache, cpu);
    watch_directory(descriptor, 1000);
    EXPECT_EQ(on_cpu(cache, cpu) - before, 1000U) << "CPU " << cpu;
  }
  ::sched_setaffinity(0, sizeof allowed, &allowed);
  ::close(descriptor);
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

/// Numbers of all links of programs to events that the kernel has now (bpf(2), BPF_LINK_GET_NEXT_ID).
std::set<std::uint32_t> links_of_kernel() {
  constexpr int kNextLink = 31;
  struct {
    std::uint32_t start = 0;
    std::uint32_t next = 0;
    std::uint32_t flags = 0;
    std::uint32_t padding[29] = {};
  } request;
  std::set<std::uint32_t> numbers;
  while (::syscall(SYS_bpf, kNextLink, &request, sizeof request) == 0) {
    numbers.insert(request.next);
    request.start = request.next;
  }
  return numbers;
}

/// Numbers of the links that a process holds, as /proc/PID/fdinfo shows them.
std::set<std::uint32_t> links_of(pid_t process) {
  std::set<std::uint32_t> numbers;
  for (int descriptor = 0; descriptor < 256; ++descriptor) {
    std::ifstream file("/proc/" + std::to_string(process) + "/fdinfo/" + std::to_string(descriptor));
    std::string word;
    std::uint32_t number = 0;
    while (file >> word) {
      if (word == "link_id:" && file >> number) numbers.insert(number);
    }
  }
  return numbers;
}

TEST_F(LiveSlabEvents, AreGoneWhenTheProcessIsKilled) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto table = events::make_slab_events(kWithoutLimit);
    const char byte = table->open() ? 'y' : 'n';
    if (::write(ready[1], &byte, 1) != 1) ::_exit(1);
    while (true) ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_EQ(byte, 'y');
  std::set<std::uint32_t> own = links_of(child);
  for (const std::uint32_t inherited : links_of(::getpid())) own.erase(inherited);
  EXPECT_GE(own.size(), 3U);
  ::kill(child, SIGKILL);
  // The kernel closes a process's descriptors before it reports its end, and detaches a link when it is closed.
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  // Some kernels leave the rest to a kernel thread.
  EXPECT_TRUE(eventually([&] {
    const std::set<std::uint32_t> after = links_of_kernel();
    return std::none_of(own.begin(), own.end(), [&](std::uint32_t number) { return after.contains(number); });
  })) << "a link is left";
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(LiveSlabEvents, AreGoneWithTheTable) {
  EXPECT_GE(links_of(::getpid()).size(), 3U);
  table_.reset();
  EXPECT_EQ(links_of(::getpid()).size(), 0U);
}

TEST_F(LiveSlabEvents, CountEachAllocationByItsSizeInModeFull) {
  table_ = events::make_slab_events("full 1000000000");
  ASSERT_TRUE(table_->open());
  for (int i = 0; i < 1000; ++i) ::close(::open("/", O_RDONLY));
  expect_near_all_events([](const SourceReader& reader) {
    const StagedStatistics& statistics = reader.staging.statistics();
    std::uint64_t count = 0;
    for (const StagedStatistics::Entry& entry : statistics.entries()) {
      if (!entry.is_histogram) continue;
      for (const std::uint64_t bucket : statistics.histogram(entry).counts) count += bucket;
    }
    EXPECT_GT(count, 1000U);
    return count;
  });
}

TEST_F(LiveSlabEvents, CountEachAllocationByTheClassOfItsFlags) {
  table_ = events::make_slab_events("counters 1000000000 gfp_classes");
  ASSERT_TRUE(table_->open());
  for (int i = 0; i < 1000; ++i) ::close(::open("/", O_RDONLY));
  expect_near_all_events([](const SourceReader& reader) {
    EXPECT_GT(statistics_of(reader.staging).at("gfp_allocations_total{slab,kernel}"), 1000U)
        << "the kernel's own, for open()";
    return sum_of_statistics(reader.staging, "gfp_allocations_total{slab,").sum;
  });
}

TEST_F(LiveSlabEvents, AreGoneForGoodWhenTheyTakeMoreThanTheBudget) {
  const std::size_t others = links_of(::getpid()).size();
  events::EventBudget budget(0);  // nothing to begin with
  const auto table = events::make_slab_events("counters 100", budget);
  ASSERT_TRUE(table->open());
  EXPECT_GT(links_of(::getpid()).size(), others);
  for (int i = 0; i < 20'000; ++i) ::close(::open("/", O_RDONLY));
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(table->read(reader_.raw.parts[0]));
    EXPECT_NE(text_of(events::kSlabTable, reader_.raw.parts[0]).find("\ngovernor 0 "), std::string::npos);
    ASSERT_TRUE(parse_source(reader_));
    EXPECT_TRUE(reader_.staging.types().empty());
  }
  EXPECT_EQ(links_of(::getpid()).size(), others);
}

TEST_F(LiveSlabEvents, KeepCountingWithoutPrivileges) { expect_counts_without_privileges(*table_, 100); }

TEST(LiveSlabEventsRefused, SayWhatTheyNeed) {
  expect_says_what_it_needs([] { return events::make_slab_events(kWithoutLimit); });
}

}  // namespace
}  // namespace memstat::linux_slab_events_test
