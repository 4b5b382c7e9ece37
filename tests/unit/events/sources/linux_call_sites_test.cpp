// SPDX-License-Identifier: BSD-2-Clause
// Callers of the allocator: the text made from the programs' counts, its parsing, the programs run by the kernel
// with arguments of our own, and on this machine's kernel a workload of known counts in a control group of its own.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/text.h"
#include "core/events/attach/live_tables.h"
#include "core/query.h"
#include "tests/support/fixtures.h"
#include "tests/support/live_table.h"
#include "tests/support/source_reading.h"
#include "tests/support/staged_statistics.h"
#include "tests/support/table_text.h"
#include "tests/support/test.h"

namespace memstat::linux_call_sites_test {
namespace {

const SourceDescriptor& source() { return *find_source("linux_call_sites"); }

const std::string kHeader = "call_sites 1\nunplaced 0\nmissed 0\n";

std::string sizes_line(std::uint64_t bytes, std::size_t bucket, std::uint64_t count) {
  std::string line = "got " + std::to_string(bytes);
  for (std::size_t i = 0; i < MEMSTAT_SIZES; ++i) line += " " + std::to_string(i == bucket ? count : 0);
  return line + "\n";
}

class LinuxCallSites : public ParsedSource<source> {
 protected:
  std::string words(const std::string& text) {
    return ParsedSource::words(text, {Field::kNumAllocs, Field::kMemAlloced, Field::kRequestedBytes, Field::kFailures}, ' ');
  }
};

TEST_F(LinuxCallSites, HasATypeAFunction) {
  EXPECT_EQ(
      words(kHeader + "site 5 600 960 1\t__d_alloc\nsite 2 30 64 0\text4_find_extent [ext4]\nsite 1 2 3 4\tother\nend\n"),
      "__d_alloc: 5 960 600 1; ext4_find_extent [ext4]: 2 64 30 0; other: 1 3 2 4");
}

TEST_F(LinuxCallSites, AddsUpFunctionsOfOneName) {
  EXPECT_EQ(words(kHeader + "site 5 600 960 1\tinit\n" + sizes_line(960, 5, 5) + "site 1 2 3 4\tinit\n" +
                  sizes_line(3, 0, 1) + "end\n"),
            "init: 6 963 602 5");
  EXPECT_TRUE(has_unique_statistics(reader_.staging));
}

TEST_F(LinuxCallSites, HasTheSizesThatAFunctionGot) {
  ASSERT_TRUE(parse(kHeader + "site 7 700 896 0\tkmemdup\n" + sizes_line(896, 4, 7) + "end\n"));
  const StagedStatistics& statistics = reader_.staging.statistics();
  const StagedStatistics::Entry& entry = statistics.entries().back();
  ASSERT_TRUE(entry.is_histogram);
  EXPECT_EQ(statistics.label(entry, 0), "kmemdup");
  EXPECT_EQ(statistics.histogram(entry).counts[4], 7U);
  EXPECT_EQ(statistics.histogram(entry).sum, 896);
}

TEST_F(LinuxCallSites, HasGroupsAndWhoMakesACacheGrow) {
  ASSERT_TRUE(parse(kHeader + "site 1 1 1 0\tother\ngroup 9 1728 1000 2\t/containers/web app\n"
                              "origin 9 1728 2\tdentry\t/containers/web app\tmy program\t__d_alloc\nend\n"));
  const auto all = statistics_of(reader_.staging);
  EXPECT_EQ(all.at("slab_group_allocations_total{/containers/web app}"), 9U);
  EXPECT_EQ(all.at("slab_group_allocated_bytes_total{/containers/web app}"), 1728U);
  EXPECT_EQ(all.at("slab_group_charged_bytes_total{/containers/web app}"), 1000U);
  EXPECT_EQ(all.at("slab_group_failures_total{/containers/web app}"), 2U);
  EXPECT_EQ(all.at("slab_origin_allocations_total{dentry,/containers/web app,my program,__d_alloc}"), 9U);
  EXPECT_EQ(all.at("slab_origin_allocated_bytes_total{dentry,/containers/web app,my program,__d_alloc}"), 1728U);
}

TEST_F(LinuxCallSites, AddsUpGroupsAndCommandsThatLookAlike) {
  ASSERT_TRUE(parse(kHeader + "site 1 1 1 0\tother\ngroup 9 1728 1000 2\t/a\ngroup 1 8 0 0\t/a\n"
                              "origin 9 1728 2\tdentry\t/a\tx\x01\td_alloc\n"
                              "origin 1 192 0\tdentry\t/a\tx\\x01\td_alloc\nend\n"));
  EXPECT_TRUE(has_unique_statistics(reader_.staging));
  const auto all = statistics_of(reader_.staging);
  EXPECT_EQ(all.at("slab_group_allocations_total{/a}"), 10U);
  EXPECT_EQ(all.at("slab_group_allocated_bytes_total{/a}"), 1736U);
  EXPECT_EQ(all.at("slab_origin_allocations_total{dentry,/a,x\\x01,d_alloc}"), 10U);
}

TEST_F(LinuxCallSites, SaysWhatWasNotCountedAndWhatCountingCost) {
  ASSERT_TRUE(
      parse("call_sites 1\nunplaced 7\nmissed 9\ngovernor 1 4 1000000000 2000000000 10000\nsite 1 1 1 0\tother\nend\n"));
  const auto all = statistics_of(reader_.staging);
  EXPECT_EQ(all.at("events_lost_total{site_unplaced}"), 7U);
  EXPECT_EQ(all.at("events_lost_total{site_missed}"), 9U);
  EXPECT_EQ(all.count("events_counted_ratio{linux_call_sites}"), 1U);
  EXPECT_NE(reader_.staging.note().find("exact counts"), std::string::npos);
}

TEST_F(LinuxCallSites, HasNothingOnceDetached) {
  ASSERT_TRUE(parse(kHeader + "governor 0 1 5 0 10000\nend\n"));
  EXPECT_TRUE(reader_.staging.types().empty());
  EXPECT_NE(reader_.staging.note().find("events.budget"), std::string::npos);
}

TEST_F(LinuxCallSites, NeverReportsMemoryInUse) {
  ASSERT_TRUE(parse(kHeader + "site 5 600 960 1\t__d_alloc\nend\n"));
  for (const Field field : {Field::kBytes, Field::kCount, Field::kHeldBytes, Field::kNumFrees}) {
    EXPECT_FALSE(source().fields.has(field)) << "the freeing function is not the allocating one";
    EXPECT_FALSE(reader_.staging.types()[0].fields.has(field));
  }
}

TEST_F(LinuxCallSites, RefusesOtherText) {
  expect_refused(kHeader + "end\n", kHeader.size() + 4);
  expect_refused(kHeader + sizes_line(960, 5, 5) + "end\n", kHeader.size());
  const std::string site = kHeader + "site 1 1 1 1\ta\n";
  expect_refused(site + "got 1 1 1\nend\n", site.size());
}

TEST_F(LinuxCallSites, RefusesMoreLinesThanThereAreEver) {
  std::string text = kHeader;
  for (int i = 0; i < 20'001; ++i) text += "site 1 1 1 1\ta\n";
  EXPECT_FALSE(parse(text + "end\n"));
}

/// The data shared with the programs, filled by hand.
class CallSiteBook : public testing::Test {
 protected:
  struct Origin {
    std::string_view function;
    std::string_view cache = {};  // "": of kmalloc()
    std::uint64_t group = MEMSTAT_SITE_ANY_GROUP;
    std::string_view command = {};
    std::uint32_t size = 192;
    std::uint32_t object_size = 188;
    std::uint32_t kind = 0;
    bool is_charged = false;
  };
  void claim(std::size_t at, const Origin& origin) {
    memstat_site_slot& slot = table_->slots[at];
    slot = {};
    slot.group = origin.group;
    slot.size = origin.size;
    slot.object_size = origin.cache.empty() ? 0 : origin.object_size;
    slot.kind = origin.kind;
    slot.is_charged = origin.is_charged ? 1 : 0;
    origin.function.copy(slot.name, sizeof slot.name - 1);
    origin.cache.copy(slot.cache, sizeof slot.cache - 1);
    origin.command.copy(slot.command, sizeof slot.command);
    table_->keys[at] = slot.is_known = next_key_++;
  }
  void count(std::size_t at, std::uint64_t allocations, std::uint64_t requested = 0, std::uint64_t failures = 0,
             std::size_t cpu = 0) {
    memstat_site_row& row = cpus_[cpu].rows[at];
    row.allocations += allocations;
    row.requested += requested;
    row.failures += failures;
  }
  void add_group(std::uint64_t id, std::initializer_list<std::string_view> names) {
    memstat_site_group& group = table_->groups[(id * 0x9E3779B97F4A7C15ULL >> 40U) % MEMSTAT_SITE_GROUPS];
    group.id = id;
    group.is_known = 1;
    std::size_t depth = 0;
    for (const std::string_view name : names) name.copy(group.names[depth++], MEMSTAT_SITE_GROUP_NAME - 1);
  }
  void look(double seconds = 10) {
    now_ns_ += static_cast<std::int64_t>(seconds * 1e9);
    book_->look(*table_, cpus_, now_ns_);
  }
  std::string text() {
    book_->write({}, out_);
    return text_of(events::kSiteTable, out_);
  }
  /// The lines that begin with that word.
  std::string lines(std::string_view word) {
    std::string all;
    const std::string text = this->text();
    std::string_view rest = text;
    for (std::string_view line; next_line(rest, line);) {
      if (line.starts_with(word)) all += std::string(line) + "\n";
    }
    return all;
  }

  std::unique_ptr<memstat_site_table> table_ = std::make_unique<memstat_site_table>();
  std::vector<memstat_site_cpu> cpus_{2};
  std::unique_ptr<events::CallerTable> book_ = std::make_unique<events::CallerTable>(events::SiteLimits{});
  std::uint64_t next_key_ = std::uint64_t{1} << 63U;
  std::int64_t now_ns_ = 0;
  Buffer out_;
};

TEST_F(CallSiteBook, AddsUpByFunctionGroupAndOrigin) {
  add_group(77, {"web", "containers"});
  claim(1, {.function = "__d_alloc", .cache = "dentry", .group = 77, .command = "nginx", .is_charged = true});
  claim(2, {.function = "__d_alloc", .cache = "dentry", .group = 77, .command = "sh"});
  claim(3, {.function = "kmemdup [a]", .group = 77, .command = "sh", .size = 96, .kind = 2, .is_charged = true});
  count(1, 3, 0, 1);
  count(1, 2, 0, 0, 1);
  count(2, 1);
  count(3, 10, 700);
  look();
  EXPECT_EQ(lines("site"), "site 6 1128 1152 1\t__d_alloc\nsite 10 700 960 0\tkmemdup [a]\nsite 0 0 0 0\tother\n");
  EXPECT_EQ(lines("got"), sizes_line(960, 4, 10)) << "of kmalloc() only";
  EXPECT_EQ(lines("group"), "group 16 2112 1920 1\t/containers/web\ngroup 0 0 0 0\tother\n");
  EXPECT_EQ(
      lines("origin"),
      "origin 5 960 1\tdentry\t/containers/web\tnginx\t__d_alloc\norigin 1 192 0\tdentry\t/containers/web\tsh\t__d_alloc\n"
      "origin 10 960 0\tkmalloc-cg-96\t/containers/web\tsh\tkmemdup [a]\n");
  EXPECT_EQ(book_->events(), 16U);
  EXPECT_EQ(events::count_site_events(*table_, cpus_), 16U);
}

TEST_F(CallSiteBook, HasTheSameFiguresWhenNothingHappened) {
  claim(1, {.function = "__d_alloc", .cache = "dentry"});
  count(1, 3);
  look();
  const std::string before = text();
  look();
  EXPECT_EQ(text(), before);
}

TEST_F(CallSiteBook, NamesGroupsWithoutAName) {
  add_group(5, {""});
  claim(1, {.function = "", .group = 5, .command = "ksoftirqd/1", .size = 16384});
  claim(2, {.function = "f", .group = 6, .command = "a/b", .size = 1024, .kind = 1});
  claim(3, {.function = "g", .group = MEMSTAT_SITE_ANY_GROUP, .size = 8});
  for (const std::size_t at : {1U, 2U, 3U}) count(at, 1, 1);
  look();
  EXPECT_EQ(lines("origin"),
            "origin 1 8 0\tkmalloc-8\tother\tother\tg\norigin 1 16384 0\tkmalloc-large\t/\tksoftirqd\tunknown\n"
            "origin 1 1024 0\tkmalloc-rcl-1k\tunknown\ta/b\tf\n");
}

TEST_F(CallSiteBook, KeepsNamesWithinTheirLineAndField) {
  claim(1, {.function = "a\tb\nc", .cache = "d\te", .group = 5, .command = "f\ng\th"});
  add_group(5, {"x\ty\nz"});
  count(1, 1);
  look();
  EXPECT_EQ(lines("origin"), "origin 1 192 0\td?e\t/x?y?z\tf?g?h\ta?b?c\n");
}

TEST_F(CallSiteBook, MarksAGroupThatIsTooDeep) {
  add_group(5, {"i", "h", "g", "f", "e", "d", "c", "b"});
  claim(1, {.function = "f", .cache = "c", .group = 5});
  count(1, 1);
  look();
  EXPECT_EQ(lines("group 1"), "group 1 192 0 0\t.../b/c/d/e/f/g/h/i\n");
}

TEST_F(CallSiteBook, ChargesNothingToTheRoot) {
  add_group(5, {""});
  claim(1, {.function = "f", .cache = "c", .group = 5, .is_charged = true});
  count(1, 1);
  look();
  EXPECT_EQ(lines("group 1"), "group 1 192 0 0\t/\n");
}

TEST_F(CallSiteBook, BoundsItsRowsAndCountsTheRest) {
  book_ = std::make_unique<events::CallerTable>(
      events::SiteLimits{.sites = 2, .groups = 1, .caches = 1, .origins_of_a_cache = 1});
  add_group(1, {"one"});
  add_group(2, {"two"});
  claim(1, {.function = "a", .cache = "c", .group = 1, .command = "sh", .size = 100, .object_size = 100});
  claim(2, {.function = "b", .cache = "c", .group = 2, .command = "sh", .size = 200, .object_size = 200});
  claim(3, {.function = "d", .cache = "e", .group = 2, .command = "sh", .size = 50, .object_size = 50});
  for (const std::size_t at : {1U, 2U, 3U}) count(at, 1);
  look();
  EXPECT_EQ(lines("site"), "site 1 100 100 0\ta\nsite 1 200 200 0\tb\nsite 1 50 50 0\tother\n");
  EXPECT_EQ(lines("group"), "group 2 250 0 0\t/two\ngroup 1 100 0 0\tother\n");
  EXPECT_EQ(
      lines("origin"),
      "origin 1 200 0\tc\t/two\tsh\tb\norigin 1 100 0\tc\tother\tother\tother\norigin 1 50 0\tother\tother\tother\tother\n");
}

TEST_F(CallSiteBook, CountsEventsWithoutASlotAsOthersAndReportsThem) {
  count(MEMSTAT_SITE_ALL, 4, 400);
  count(MEMSTAT_SITE_ALL + 1, 5, 500, 1);
  look();
  EXPECT_NE(text().find("\nunplaced 10\n"), std::string::npos);
  EXPECT_EQ(lines("site"), "site 9 900 900 1\tother\n");
  EXPECT_EQ(lines("group"), "group 9 900 0 1\tother\n");
}

TEST_F(CallSiteBook, WaitsForASlotThatIsBeingWritten) {
  claim(1, {.function = "f", .cache = "c"});
  table_->slots[1].is_known = 0;
  count(1, 1);
  look();
  EXPECT_EQ(lines("site 1"), "");
  table_->slots[1].is_known = table_->keys[1];
  look();
  EXPECT_EQ(lines("site 1"), "site 1 188 192 0\tf\n");
}

TEST_F(CallSiteBook, TakesIdleSlotsBackWhereTheyGetScarceAndLosesNothing) {
  add_group(9, {"gone"});
  for (std::size_t at = 0; at < MEMSTAT_SITE_SLOTS * 3 / 4; ++at) {
    claim(at, {.function = "f", .cache = "c", .group = 9, .command = "job"});
    count(at, 1);
  }
  look();
  for (std::uint32_t i = 0; i < events::CallerTable::kIdleLooks; ++i) {
    count(0, 1);  // in use all the time
    look();
  }
  EXPECT_EQ(table_->keys[1], MEMSTAT_SITE_RETIRED);
  count(1, 5);  // a program that was just running
  look(0.5);
  EXPECT_EQ(table_->keys[1], MEMSTAT_SITE_RETIRED) << "not yet";
  look(1);
  EXPECT_EQ(table_->keys[1], 0U);
  EXPECT_NE(table_->keys[0], 0U);
  EXPECT_EQ(cpus_[0].rows[1].allocations, 0U);
  const std::uint64_t all = MEMSTAT_SITE_SLOTS * 3 / 4 + events::CallerTable::kIdleLooks + 5;
  EXPECT_EQ(lines("site").substr(0, 5 + std::to_string(all).size()), "site " + std::to_string(all));
  claim(1, {.function = "new", .cache = "c", .size = 1000, .object_size = 1000});
  count(1, 2);
  look();
  EXPECT_NE(text().find("site 2 2000 2000 0\tnew\n"), std::string::npos);
  EXPECT_EQ(book_->events(), all + 2);
}

TEST_F(CallSiteBook, FreesGroupsThatNoSlotNamesWhereTheyGetScarce) {
  for (std::uint64_t id = 1; id <= MEMSTAT_SITE_GROUPS; ++id) {
    table_->groups[id - 1].id = id;
    table_->groups[id - 1].is_known = 1;
    table_->groups[id - 1].names[0][0] = 'x';
  }
  claim(1, {.function = "f", .cache = "c", .group = 7});
  look();
  EXPECT_EQ(table_->groups[6].id, 7U);
  EXPECT_EQ(table_->groups[7].id, 0U);
  EXPECT_EQ(table_->groups[7].names[0][0], '\0');
}

TEST_F(CallSiteBook, HasNoFiguresOnceDetached) {
  claim(1, {.function = "f", .cache = "c"});
  count(1, 1);
  look();
  book_->write({.governor = events::GovernorFacts{.is_attached = false, .budget_ppm = 10'000}}, out_);
  EXPECT_EQ(text_of(events::kSiteTable, out_), "call_sites 1\nunplaced 0\nmissed 0\ngovernor 0 1 0 0 10000\nend\n");
}

// ---- this machine's kernel -----------------------------------------------------------------------------------------------

class LiveCallSites : public testing::Test {
 protected:
  void SetUp() override { open_or_skip(*table_); }
  void read() {
    ASSERT_TRUE(table_->read(reader_.raw.parts[0]));
    const auto parsed = parse_source(reader_);
    ASSERT_TRUE(parsed) << to_string(parsed.error());
  }
  /// Allocations of origins that begin with "cache,group,command".
  std::uint64_t allocations(const std::string& origin) {
    read();
    return sum_of_statistics(reader_.staging, "slab_origin_allocations_total{" + origin).sum;
  }

  std::unique_ptr<TextTableSource> table_ = events::make_call_sites(kWithoutLimit, {});
  SourceReader reader_{source()};
};

/// Each call takes one dnotify_struct, which no other program does.
void watch_directory(int times) {
  const int descriptor = ::open("/", O_RDONLY | O_DIRECTORY);
  for (int i = 0; i < times; ++i) ASSERT_EQ(::fcntl(descriptor, F_NOTIFY, DN_CREATE | DN_MULTISHOT), 0);
  ::close(descriptor);
}

/// A control group of the memory controller for this process; the destructor leaves and removes it.
class OwnGroup {
 public:
  OwnGroup() {
    for (const std::string root : {"/sys/fs/cgroup/memory", "/sys/fs/cgroup"}) {
      if (::access((root + "/cgroup.procs").c_str(), W_OK) != 0) continue;
      const std::string path = root + "/" + name();
      if (::mkdir(path.c_str(), 0755) != 0) continue;
      // In version 2 the group counts separately only if the controller is enabled for it.
      if (root != "/sys/fs/cgroup" || ::access((path + "/memory.current").c_str(), F_OK) == 0) {
        before_ = root + path_before(root == "/sys/fs/cgroup" ? "0::" : ":memory:");
        path_ = path;
        if (join(path_)) return;
      }
      ::rmdir(path.c_str());
      path_.clear();
    }
  }
  OwnGroup(const OwnGroup&) = delete;
  OwnGroup& operator=(const OwnGroup&) = delete;
  ~OwnGroup() {
    if (path_.empty()) return;
    join(before_);
    ::rmdir(path_.c_str());
  }
  [[nodiscard]] bool is_there() const { return !path_.empty(); }
  [[nodiscard]] static std::string name() { return "memstat_test_" + std::to_string(::getpid()); }

 private:
  static bool join(const std::string& path) {
    std::ofstream file(path + "/cgroup.procs");
    file << ::getpid() << std::flush;
    return static_cast<bool>(file);
  }
  static std::string path_before(const std::string& word) {
    std::ifstream file("/proc/self/cgroup");
    std::string line;
    while (std::getline(file, line)) {
      const std::size_t at = line.find(word);
      if (at != std::string::npos) return line.substr(at + word.size());
    }
    return "";
  }
  std::string path_;
  std::string before_;
};

TEST_F(LiveCallSites, NameTheCallTheProgramAndTheGroupAndCountExactly) {
  const std::string cache = "dnotify_struct";
  if (!has_slab_cache(cache)) GTEST_SKIP() << "this kernel has no slab cache " << cache << " of its own";
  const OwnGroup group;
  if (!group.is_there()) GTEST_SKIP() << "no control group with the memory controller can be created on this machine";
  constexpr int kTimes = 100'000;
  watch_directory(kTimes);
  const std::string origin = cache + ",/" + OwnGroup::name() + ",test_events,fcntl_dirnotify}";
  EXPECT_EQ(allocations(origin), static_cast<std::uint64_t>(kTimes)) << reader_.raw.parts[0].view();
  watch_directory(kTimes);
  EXPECT_EQ(allocations(origin), 2 * static_cast<std::uint64_t>(kTimes));
  const auto all = statistics_of(reader_.staging);
  EXPECT_GE(all.at("slab_group_allocations_total{/" + OwnGroup::name() + "}"), 2 * static_cast<std::uint64_t>(kTimes));
  bool is_found = false;
  for (const StagedType& type : reader_.staging.types()) {
    if (type.name != "fcntl_dirnotify") continue;
    is_found = true;
    EXPECT_GE(type.figures[Field::kNumAllocs], 2 * static_cast<std::uint64_t>(kTimes));
    EXPECT_GE(type.figures[Field::kMemAlloced], type.figures[Field::kRequestedBytes]);
  }
  EXPECT_TRUE(is_found);
}

TEST_F(LiveCallSites, KeepCountingWithoutPrivileges) { expect_counts_without_privileges(*table_, 1000); }

TEST_F(LiveCallSites, AreGoneForGoodWhenTheyTakeMoreThanTheBudget) {
  events::EventBudget budget(0);  // nothing at the start
  const auto table = events::make_call_sites("full 100", {}, budget);
  ASSERT_TRUE(table->open());
  for (int i = 0; i < 20'000; ++i) ::close(::open("/", O_RDONLY));
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(table->read(reader_.raw.parts[0]));
    const std::string text = text_of(events::kSiteTable, reader_.raw.parts[0]);
    EXPECT_NE(text.find("\ngovernor 0 "), std::string::npos) << text;
    ASSERT_TRUE(parse_source(reader_));
    EXPECT_TRUE(reader_.staging.types().empty());
  }
}

TEST(LiveCallSitesRefused, SayWhatTheyNeed) {
  expect_says_what_it_needs([] { return events::make_call_sites(kWithoutLimit, {}); });
}

}  // namespace
}  // namespace memstat::linux_call_sites_test
