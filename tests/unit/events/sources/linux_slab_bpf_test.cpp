// SPDX-License-Identifier: BSD-2-Clause
// The text of a pass over the slab caches from the kernel's records, its parsing, how it replaces slabinfo in the list,
// and this machine's kernel, compared with its own files.
#include <fcntl.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/unique_fd.h"
#include "core/events/attach/live_tables.h"
#include "core/events/bpf/slab_caches_layout.h"
#include "core/events/caches/slab_caches_rows.h"
#include "core/kernel/group_files.h"
#include "core/query.h"
#include "tests/support/fixtures.h"
#include "tests/support/live_group.h"
#include "tests/support/live_table.h"
#include "tests/support/partial_slabs.h"
#include "tests/support/source_reading.h"
#include "tests/support/table_text.h"
#include "tests/support/test.h"

namespace memstat::linux_slab_bpf_test {
namespace {

const SourceDescriptor& pass_source() { return *find_source("linux_slab_bpf"); }

const std::string kStart = "slab_caches 1\n";
const std::string kDentry = "type 192 184 2 10 420 30 64 5 7 dentry\n";

class LinuxSlabBpf : public ParsedSource<pass_source> {
 protected:
  [[nodiscard]] std::uint64_t figure(std::size_t index, Field field) const {
    return reader_.staging.types().at(index).figures[field];
  }
};

TEST_F(LinuxSlabBpf, HasTheSlabsOfListsCpusAndNodes) {
  const std::string nodes = "node 0 6 252 3 30 64\nnode 2 4 168 1 9 0\ncpu 0 2 5 3\ncpu 1 3 0 4\n";
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(parse(kStart + kDentry + nodes + "type 8 8 1 1 5 0 0 2 0 other\nnode 0 1 5 0 0 0\nend\n"));
    EXPECT_EQ(figure(0, Field::kPartialSlabs), 4U);
    EXPECT_EQ(figure(0, Field::kCpuSlabs), 5U);
    ASSERT_EQ(reader_.staging.node_count(), 3U);
    const StagedType& dentry = reader_.staging.types()[0];
    EXPECT_EQ(reader_.staging.node_figure(dentry, NodeField::kHeldBytes, 1), 0U);
    EXPECT_EQ(reader_.staging.node_figure(dentry, NodeField::kTotalObjects, 2), 168U);
  }
  ASSERT_TRUE(parse(kStart + kDentry + "end\n"));
  EXPECT_EQ(reader_.staging.node_count(), 0U) << "whatever was there before";
}

TEST_F(LinuxSlabBpf, HasNoSlabsOfCpusWhereCpusHoldNone) {
  ASSERT_TRUE(parse(kStart + kDentry + "cpu 0 0 0 3\nend\n"));
  EXPECT_FALSE((reader_.staging.omitted_fields() & FieldMask(Field::kCpuSlabs)).empty());
}

TEST_F(LinuxSlabBpf, LeavesOutASumOfWhichRowsAreMissing) {
  std::string nodes;
  std::string cpus;
  for (int i = 0; i < MEMSTAT_CACHE_NODES; ++i) nodes += "node " + std::to_string(i) + " 1 42 1 3 0\n";
  for (int i = 0; i < MEMSTAT_CACHE_CPUS; ++i) cpus += "cpu " + std::to_string(i) + " 1 0 0\n";
  ASSERT_TRUE(parse(kStart + kDentry + nodes + cpus + "end\n"));
  const FieldMask given = reader_.staging.types()[0].fields;
  EXPECT_FALSE(given.has(Field::kPartialSlabs));
  EXPECT_FALSE(given.has(Field::kCpuSlabs));
  EXPECT_TRUE(given.has(Field::kSlabs));
}

TEST_F(LinuxSlabBpf, RefusesANodeThatNoKernelHas) {
  const std::string type = kStart + kDentry;
  expect_refused(type + "node 1024 1 42 1 3 0\nend\n", type.size());
  expect_refused(type + "node 0 18446744073709551615 42 1 3 0\nend\n", type.size());
}

TEST_F(LinuxSlabBpf, LeavesACpuThatCameAfterTheCpusWereCounted) {
  ASSERT_TRUE(parse(kStart + kDentry + "cpu 4 2 5 3\nend\n"));
  EXPECT_EQ(figure(0, Field::kFree), 106U) << "it is in the sums";
}

TEST_F(LinuxSlabBpf, NeverReportsLessThanZeroInUse) {
  ASSERT_TRUE(parse(kStart + "type 8 8 1 1 512 500 0 100 0 changing fast\nend\n"));
  EXPECT_EQ(reader_.staging.types()[0].name, "changing fast");
  EXPECT_EQ(figure(0, Field::kCount), 0U);
  EXPECT_EQ(figure(0, Field::kFree), 512U);
}

TEST_F(LinuxSlabBpf, RefusesOtherText) {
  expect_refused(kStart + "end\n", kStart.size() + 4);
  const std::string most = "18446744073709551615";
  for (const std::string line : {"node 0 1 2 3 4 5", "cpu 0 1 2 3"})
    expect_refused(kStart + line + "\nend\n", kStart.size());
  expect_refused(kStart + "type 2 2 1 1 " + most + " 0 0 0 0 a\nend\n", kStart.size());
  expect_refused(kStart + "type 2 2 " + most + " 1 1 0 0 0 0 a\nend\n", kStart.size());
  expect_refused(kStart + "type 2 2 1 " + most + " 1 0 0 0 0 a\nend\n", kStart.size());
}

TEST_F(LinuxSlabBpf, HasEveryFigureOfTheRosterThatItReplaces) {
  const SourceDescriptor* roster = find_source(pass_source().replaces);
  ASSERT_NE(roster, nullptr);
  EXPECT_TRUE(roster->is_roster);
  EXPECT_EQ(roster->allocator, pass_source().allocator);
  EXPECT_TRUE((roster->fields - pass_source().fields).empty());
  EXPECT_TRUE((roster->cpu_fields - pass_source().cpu_fields).empty());
  EXPECT_TRUE((roster->node_fields - pass_source().node_fields).empty());
  EXPECT_TRUE(roster->options.empty()) << "options of types, such as top, would have no effect";
}

TEST_F(LinuxSlabBpf, HasEveryFigureForWhichTheFilesOfCachesAreOpened) {
  const SourceDescriptor* files = find_source("linux_slab_sysfs");
  ASSERT_NE(files, nullptr);
  const FieldMask counters(Field::kNumAllocs, Field::kNumFrees);  // with CONFIG_SLUB_STATS
  EXPECT_EQ(files->fields - pass_source().fields, counters);
  EXPECT_TRUE((files->node_fields - pass_source().node_fields).empty());
}

TEST_F(LinuxSlabBpf, ReplacesSlabinfoInThePollInWhichItWorks) {
  const std::string info =
      "slabinfo - version: 2.1\n# name <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> : tunables <limit> "
      "<batchcount> <sharedfactor> : slabdata <active_slabs> <num_slabs> <sharedavail>\n"
      "dentry 390 420 192 42 2 : tunables 0 0 0 : slabdata 10 10 0\nother 5 5 8 5 1 : tunables 0 0 0 : slabdata 1 1 0\n";
  SourceReader roster(*find_source("linux_slabinfo"));
  roster.raw.page_size = 4096;
  roster.raw.parts[0].assign(info);
  MemoryTypeList list;
  ASSERT_TRUE(commit_source(roster, list, 1));
  EXPECT_EQ(list.find(Allocator::kSlab, "dentry")->figure(Field::kCount), 390U);
  ASSERT_TRUE(parse(kStart + kDentry + "type 8 8 1 1 5 0 0 2 0 other\nend\n"));
  ASSERT_TRUE(commit_source(reader_, list, 1));
  EXPECT_EQ(list.find(Allocator::kSlab, "dentry")->figure(Field::kCount), 314U);
  EXPECT_EQ(list.find(Allocator::kSlab, "other")->figure(Field::kFree), 2U);
  EXPECT_EQ(list.size(), 2U);
  ASSERT_TRUE(commit_source(roster, list, 2));  // and the pass failed
  EXPECT_EQ(list.find(Allocator::kSlab, "dentry")->figure(Field::kCount), 390U);
}

// ---- records -------------------------------------------------------------------------------------------------------------

template <typename Record>
std::string bytes_of(const Record& record, std::size_t size = sizeof(Record)) {
  return {reinterpret_cast<const char*>(&record), size};
}

std::string record_of(std::string_view name, memstat_cache cache, const std::vector<memstat_cache_node>& nodes = {},
                      const std::vector<memstat_cache_cpu>& cpus = {}) {
  cache.name_size = static_cast<std::uint32_t>(name.size());
  cache.node_count = static_cast<std::uint32_t>(nodes.size());
  cache.cpu_count = static_cast<std::uint32_t>(cpus.size());
  std::string bytes = bytes_of(cache, offsetof(memstat_cache, name)) + std::string(name);
  for (const memstat_cache_node& node : nodes) bytes += bytes_of(node);
  for (const memstat_cache_cpu& cpu : cpus) bytes += bytes_of(cpu);
  return bytes;
}

std::string whole_record() {
  memstat_cache cache{};
  cache.size = 192;
  cache.object_size = 184;
  cache.order = 1;
  cache.slabs = 10;
  cache.objects = 420;
  cache.free = {.on_lists = 30, .in_barns = 64, .in_slabs = 5, .in_sheaves = 7};
  memstat_cache_node node{};
  node.node = 1;
  node.slabs = 10;
  node.objects = 420;
  node.partial_slabs = 3;
  node.free = 30;
  node.in_barn = 64;
  return record_of("dentry", cache, {node}, {{.cpu = 2, .slabs = 2, .free = 5, .in_sheaves = 7}});
}

TEST(SlabCachesText, HasARowForEachCacheNodeAndCpu) {
  Buffer out;
  memstat_cache about{};
  about.estimated = 1;
  ASSERT_TRUE(events::write_slab_caches_rows(whole_record() + record_of("two\nlines", about), out));
  EXPECT_EQ(text_of(events::kSlabCachesTable, out),
            kStart + kDentry + "node 1 10 420 3 30 64\ncpu 2 2 5 7\ntype_about 0 0 1 0 0 0 0 0 0 two?lines\nend\n");
}

TEST(SlabCachesText, LeavesOutACacheWhoseNameCannotBeRead) {
  Buffer out;
  ASSERT_TRUE(events::write_slab_caches_rows(record_of("", {}, {{}}, {{}}) + whole_record(), out));
  EXPECT_EQ(text_of(events::kSlabCachesTable, out), kStart + kDentry + "node 1 10 420 3 30 64\ncpu 2 2 5 7\nend\n");
}

TEST(SlabCachesText, IgnoresTextAfterTheEndOfAName) {
  using namespace std::string_view_literals;
  Buffer out;
  ASSERT_TRUE(events::write_slab_caches_rows(record_of("\0ABCDEFG"sv, {}, {{}}) + record_of("filp\0XY\n"sv, {}), out));
  EXPECT_EQ(text_of(events::kSlabCachesTable, out), kStart + "type 0 0 1 0 0 0 0 0 0 filp\nend\n");
}

TEST(SlabCachesText, RefusesRecordsThatAreCutAnywhere) {
  const std::string whole = whole_record();
  Buffer out;
  for (std::size_t size = 1; size < whole.size(); ++size) {
    EXPECT_FALSE(events::write_slab_caches_rows(std::string_view(whole).substr(0, size), out)) << size;
  }
}

// ---- this machine --------------------------------------------------------------------------------------------------------

/// A pass's values for the caches of one name.
struct Cache {
  std::uint64_t slabs = 0;
  std::uint64_t objects = 0;
  std::uint64_t on_lists = 0;   // free
  std::uint64_t elsewhere = 0;  // free, too
  std::uint64_t partial_slabs = 0;
  std::uint64_t cpu_slabs = 0;
  bool is_about = false;

  [[nodiscard]] std::uint64_t in_use() const { return objects - on_lists - elsewhere; }
};
using Caches = std::map<std::string, Cache>;

/// The caches of a text; names come with a blank before them.
Caches caches_of(std::string_view text) {
  Caches caches;
  Cache* cache = nullptr;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    const auto next = [&words] {
      std::uint64_t number = 0;
      words >> number;
      return number;
    };
    std::array<std::uint64_t, 4> n{};
    if (word.starts_with("type")) {
      for (int i = 0; i < 3; ++i) next();
      Cache read{.slabs = next(), .objects = next(), .on_lists = next(), .is_about = word == "type_about"};
      for (int i = 0; i < 3; ++i) read.elsewhere += next();
      std::string name;
      std::getline(words, name);
      cache = &caches.insert_or_assign(name.substr(1), read).first->second;
    }
    if (word != "node" && word != "cpu") continue;
    for (std::uint64_t& number : n) number = next();
    (word == "node" ? cache->partial_slabs : cache->cpu_slabs) += word == "node" ? n[3] : n[1];
  }
  return caches;
}

/// Slabs, objects in use and free objects on lists, by slabinfo; empty if it cannot be read.
Caches slabinfo() {
  std::ifstream file("/proc/slabinfo");
  Caches caches;
  std::string line;
  for (int header = 0; header < 2; ++header) std::getline(file, line);
  std::string name;
  while (file >> name) {
    std::uint64_t active = 0;
    Cache cache;
    file >> active >> cache.objects;
    std::getline(file, line);
    std::istringstream rest(line.substr(line.find("slabdata") + 8));
    rest >> cache.slabs >> cache.slabs;
    cache.on_lists = cache.objects - active;
    caches[name] = cache;
  }
  return caches;
}

std::set<std::string> names_of(const Caches& caches) {
  std::set<std::string> names;
  for (const auto& [name, cache] : caches) names.insert(name);
  return names;
}

std::uint64_t sysfs(const std::string& cache, const std::string& file) {
  std::ifstream content("/sys/kernel/slab/" + cache + "/" + file);
  std::uint64_t number = ~std::uint64_t{0};
  content >> number;
  return number;
}

class LiveSlabBpf : public testing::Test {
 protected:
  void SetUp() override { open_or_skip(*table_); }

  Caches pass() {
    Buffer out;
    const auto result = table_->read(out);
    EXPECT_TRUE(result) << to_string(result.error());
    return caches_of(text_of(events::kSlabCachesTable, out));
  }
  static constexpr int kMaxTries = 300;

  /// Others also create and remove caches.
  template <typename Condition>
  static bool comes_true(Condition condition) {
    for (int i = 0; i < kMaxTries; ++i) {
      if (condition()) return true;
    }
    return false;
  }
  /// The caches for which agree(CACHE) does not become true, even after a while, as others allocate at any moment.
  template <typename Agree>
  std::string not_agreeing(Agree agree) {
    std::set<std::string> left = names_of(pass());
    EXPECT_GT(left.size(), 20U);
    for (int i = 0; i < kMaxTries && !left.empty(); ++i) {
      const Caches now = pass();
      std::erase_if(left, [&](const std::string& name) { return !now.contains(name) || agree(name, now.at(name)); });
    }
    std::string names;
    for (const std::string& name : left) names += name + " ";
    return names;
  }

  std::unique_ptr<TextTableSource> table_ = events::make_slab_caches();
};

TEST_F(LiveSlabBpf, AgreesWithSlabinfoInWhatSlabinfoCounts) {
  if (slabinfo().empty()) GTEST_SKIP() << "/proc/slabinfo cannot be read";
  Caches before = slabinfo();
  const std::string differing = not_agreeing([&](const std::string& name, const Cache& cache) {
    const auto known = before.find(name);
    const bool agrees = known == before.end() || cache.is_about ||
                        (known->second.slabs == cache.slabs && known->second.objects == cache.objects &&
                         known->second.on_lists == cache.on_lists);
    if (!agrees) before = slabinfo();
    return agrees;
  });
  EXPECT_EQ(differing, "");
  EXPECT_TRUE(comes_true([this] { return names_of(pass()) == names_of(slabinfo()); })) << "the same caches";
}

TEST_F(LiveSlabBpf, AgreesWithSysfsInTheSlabsOfCpusAndLists) {
  if (sysfs("dentry", "partial") == ~std::uint64_t{0}) GTEST_SKIP() << "/sys/kernel/slab cannot be read";
  const std::set<std::string> some{"dentry",     "filp",           "kmalloc-64", "kmalloc-512",
                                   "kmalloc-4k", "vm_area_struct", "mm_struct"};
  const std::string differing = not_agreeing([&](const std::string& name, const Cache& cache) {
    return !some.contains(name) ||
           (sysfs(name, "partial") == cache.partial_slabs && sysfs(name, "cpu_slabs") == cache.cpu_slabs &&
            sysfs(name, "slabs") == cache.slabs && sysfs(name, "total_objects") == cache.objects);
  });
  EXPECT_EQ(differing, "");
}

TEST_F(LiveSlabBpf, CountsExactlyTheObjectsInUse) {
  const std::string cache = "dnotify_struct";
  if (!pass().contains(cache)) GTEST_SKIP() << "this kernel has no slab cache " << cache << " of its own";
  constexpr std::size_t kTimes = 300;
  const std::uint64_t before = pass()[cache].in_use();
  std::vector<UniqueFd> watching;
  for (std::size_t i = 0; i < kTimes; ++i) {
    watching.emplace_back(::open("/", O_RDONLY | O_DIRECTORY));
    ASSERT_EQ(::fcntl(watching.back().get(), F_NOTIFY, DN_CREATE | DN_MULTISHOT), 0);
    if (i % 37 == 0) {
      EXPECT_EQ(pass()[cache].in_use(), before + i + 1);
    }
  }
  EXPECT_EQ(pass()[cache].in_use(), before + kTimes);
  watching.resize(kTimes / 3);
  EXPECT_EQ(pass()[cache].in_use(), before + kTimes / 3);
  watching.clear();
  EXPECT_EQ(pass()[cache].in_use(), before);
}

TEST_F(LiveSlabBpf, ReadsTheCountersOfGroupsAsTheirFilesHaveThem) {
  const auto mounted = mounted_hierarchy();
  if (!mounted) GTEST_SKIP() << "no hierarchy has the memory controller";
  const std::string path = mounted->root + "/memstat-test-counters-" + std::to_string(::getpid());
  const LiveGroup group(path);
  if (!group.is_made()) GTEST_SKIP() << "no group can be made: " << group.why_not();
  std::vector<std::string> files{"memory.current", "memory.max"};
  if (mounted->is_version_1) {
    files = {"memory.usage_in_bytes",       "memory.limit_in_bytes",       "memory.failcnt",
             "memory.memsw.usage_in_bytes", "memory.memsw.limit_in_bytes", "memory.memsw.failcnt",
             "memory.kmem.usage_in_bytes",  "memory.kmem.failcnt",         "memory.kmem.tcp.usage_in_bytes"};
  }
  ASSERT_TRUE(group.write(files[1], "33554432"));
  Eater eater(group, 64UL << 20);  // twice the limit, so that it fails
  ASSERT_TRUE(eater.is_in_group());
  eater.wait();
  Eater other(group, 8UL << 20);
  ASSERT_TRUE(other.has_eaten());
  const auto page_size = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  GroupFiles known(page_size);
  std::string differing;
  const bool agree = comes_true([&] {
    pass();
    differing.clear();
    for (const std::string& file : files) {
      const std::int64_t now = system_clock().monotonic_ns();
      known.learn(path + "/" + file, "", now);
      Buffer out;
      const std::string read = known.answer(path + "/" + file, out, now) ? std::string(out.view()) : "no answer";
      const std::string expected = group.text(file);
      if (!expected.empty() && read != expected) differing += file + ": " + read + " and " + expected;
    }
    return differing.empty();
  });
  EXPECT_TRUE(agree) << differing;
  EXPECT_NE(group.text(files[0]), "0\n");

  const std::string events = path + (mounted->is_version_1 ? "/memory.oom_control" : "/memory.events");
  Buffer out;
  pass();
  known.learn(events, "as read", system_clock().monotonic_ns());
  EXPECT_TRUE(known.answer(events, out, system_clock().monotonic_ns()));
  Eater third(group, 64UL << 20);
  third.wait();
  pass();
  EXPECT_FALSE(known.answer(events, out, system_clock().monotonic_ns())) << "there was an event";
}

TEST_F(LiveSlabBpf, NumbersTheSetsOfGroups) {
  const auto mounted = mounted_hierarchy();
  if (!mounted) GTEST_SKIP() << "no hierarchy has the memory controller";
  const auto set_now = [this] {
    pass();
    return published_group_set(system_clock().monotonic_ns());
  };
  if (set_now() == 0) GTEST_SKIP() << "this machine has no groups, or too many";
  const std::string path = mounted->root + "/memstat-test-sets-" + std::to_string(::getpid());
  const std::uint64_t before = set_now();
  const LiveGroup group(path);
  if (!group.is_made()) GTEST_SKIP() << "no group can be made: " << group.why_not();
  EXPECT_NE(set_now(), before);
}

TEST_F(LiveSlabBpf, CountsTheCachesAmongTheObjectsOfTheirCache) {
  if (!pass().contains("kmem_cache")) GTEST_SKIP() << "this kernel has no slab cache kmem_cache";
  EXPECT_TRUE(comes_true([this] {
    const Caches caches = pass();
    return caches.at("kmem_cache").in_use() == caches.size();
  }));
}

TEST_F(LiveSlabBpf, WalksALongListAtSomePassesOnly) {
  if (std::filesystem::exists("/sys/devices/system/node/node1")) GTEST_SKIP() << "the lists of two nodes take turns";
  constexpr std::size_t kSlabs = 10 * MEMSTAT_CACHE_LONG_LIST;
  const Caches before = pass();
  const auto* const name = std::find_if(std::begin(kMessageCaches), std::end(kMessageCaches),
                                        [&before](const char* cache) { return before.contains(cache); });
  if (name == std::end(kMessageCaches)) GTEST_SKIP() << "this kernel has no cache of messages";
  PartialSlabs slabs;
  if (!slabs.make(kSlabs)) GTEST_SKIP() << "this system does not allow that many messages";
  constexpr int kRounds = 8;
  int walks = 0;
  for (int i = 0; i < kRounds * MEMSTAT_CACHE_LIST_PASSES; ++i) {
    const Cache now = pass()[*name];
    EXPECT_GT(now.partial_slabs, kSlabs / 2);
    EXPECT_GT(now.on_lists, now.partial_slabs * 32) << "63 of 64 are free";
    walks += now.is_about ? 0 : 1;
  }
  EXPECT_GE(walks, kRounds * MEMSTAT_CACHE_LIST_PASSES / MEMSTAT_CACHE_MOST_PASSES);
  // At each tenth pass, and when others who use the cache change the list by a sixteenth.
  EXPECT_LT(walks, kRounds) << "the list is long, so it is walked less often than at each sixth pass";
  for (int i = 0; i < MEMSTAT_CACHE_MOST_PASSES && !pass()[*name].is_about; ++i) continue;
  ASSERT_TRUE(slabs.make(2 * kSlabs)) << "half of which fill those that are there";
  EXPECT_FALSE(pass()[*name].is_about) << "it is twice as long";
}

}  // namespace
}  // namespace memstat::linux_slab_bpf_test
