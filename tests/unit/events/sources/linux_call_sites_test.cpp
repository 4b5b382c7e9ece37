// SPDX-License-Identifier: BSD-2-Clause
// Callers of the allocator: the text made from the programs' counts, its parsing, the programs run by the kernel
// with arguments of our own, and on this machine's kernel a workload of known counts in a control group of its own.
#include <fcntl.h>
#include <unistd.h>

#include "core/base/text.h"
#include "core/events/attach/live_tables.h"
#include "core/events/sites/caller_table.h"
#include "core/query.h"
#include "tests/support/fixtures.h"
#include "tests/support/live_group.h"
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

TEST_F(LinuxCallSites, AddsUpFunctionsOfOneName) {
  EXPECT_EQ(words(kHeader + "site 5 600 960 1\tinit\n" + sizes_line(960, 5, 5) + "site 1 2 3 4\tinit\n" +
                  sizes_line(3, 0, 1) + "end\n"),
            "init: 6 963 602 5");
  EXPECT_TRUE(has_unique_statistics(reader_.staging));
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

TEST_F(CallSiteBook, MarksAGroupThatIsTooDeepAndChargesNothingToTheRoot) {
  add_group(5, {"i", "h", "g", "f", "e", "d", "c", "b"});
  add_group(6, {""});
  claim(1, {.function = "f", .cache = "c", .group = 5});
  claim(2, {.function = "f", .cache = "c", .group = 6, .size = 8, .is_charged = true});
  for (const std::size_t at : {1U, 2U}) count(at, 1);
  look();
  EXPECT_EQ(lines("group 1"), "group 1 192 0 0\t.../b/c/d/e/f/g/h/i\ngroup 1 8 0 0\t/\n");
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

// ---- this machine's kernel -----------------------------------------------------------------------------------------------

class LiveCallSites : public testing::Test {
 protected:
  void SetUp() override { open_or_skip(*table_); }
  void read() {
    ASSERT_TRUE(table_->read(reader_.raw.parts[0]));
    const auto parsed = parse_source(reader_);
    ASSERT_TRUE(parsed) << to_string(parsed.error());
  }

  std::unique_ptr<TextTableSource> table_ = events::make_call_sites(kWithoutLimit, {});
  SourceReader reader_{source()};
};

TEST_F(LiveCallSites, NameTheCallTheProgramAndTheGroupAndCountExactly) {
  const std::string cache = "dnotify_struct";
  if (!has_slab_cache(cache)) GTEST_SKIP() << "this kernel has no slab cache " << cache << " of its own";
  const auto hierarchy = mounted_hierarchy();
  if (!hierarchy) GTEST_SKIP() << "no hierarchy has the memory controller";
  const std::string name = "/memstat_test_" + std::to_string(::getpid());
  const LiveGroup group(hierarchy->root + name);
  if (!group.is_made()) GTEST_SKIP() << "cannot create a control group: " << group.why_not();
  constexpr std::uint64_t kTimes = 100'000;
  const std::string origin = cache + "," + name + ",test_events,fcntl_dirnotify}";
  for (const std::uint64_t rounds : {1U, 2U}) {
    const int status = exit_status_of_child([&] {
      if (!group.write("cgroup.procs", "0")) return 77;
      const int descriptor = ::open("/", O_RDONLY | O_DIRECTORY);
      for (std::uint64_t i = 0; i < kTimes; ++i) {
        if (::fcntl(descriptor, F_NOTIFY, DN_CREATE | DN_MULTISHOT) != 0) return 1;
      }
      return 0;
    });
    if (status == 77) GTEST_SKIP() << "processes cannot be put into the control group";
    ASSERT_EQ(status, 0);
    read();
    EXPECT_EQ(sum_of_statistics(reader_.staging, "slab_origin_allocations_total{" + origin).sum, rounds * kTimes)
        << reader_.raw.parts[0].view();
  }
  EXPECT_GE(statistics_of(reader_.staging).at("slab_group_allocations_total{" + name + "}"), 2 * kTimes);
  EXPECT_THAT(type_words(reader_.staging, {}), HasSubstr("fcntl_dirnotify: "));
}

}  // namespace
}  // namespace memstat::linux_call_sites_test
