// SPDX-License-Identifier: BSD-2-Clause
// Reports that read one type repeatedly, and how a type is named.
#include "daemon/ctl/commands/reports.h"

#include "daemon/ctl/commands/named_type.h"
#include "daemon/ctl/output/cells.h"
#include "tests/support/test.h"

namespace memstat::ctl {
namespace {

constexpr std::uint32_t kFigures = MEMSTAT_FIGURE_BYTES | MEMSTAT_FIGURE_COUNT | MEMSTAT_FIGURE_FAILURES;

TypeRow row(const char* allocator, const char* name, std::uint64_t bytes = 0, std::uint64_t objects = 0) {
  TypeRow made;
  made.allocator = allocator;
  made.name = name;
  made.figures = kFigures;
  made.bytes = bytes;
  made.objects = objects;
  return made;
}

/// A capture whose poll p has `polls[p]`, ten seconds apart.
class FakeSource final : public ReportSource {
 public:
  explicit FakeSource(std::vector<std::vector<TypeRow>> polls) : polls_(std::move(polls)) {}
  Sample read() override {
    Sample sample;
    sample.time_ns = static_cast<std::int64_t>(poll_) * 10'000'000'000;
    sample.monotonic_ns = sample.time_ns + 5;
    sample.types = polls_[poll_];
    return sample;
  }
  [[nodiscard]] Machine machine() override { return {}; }
  Splits splits(const TypeRow&) override { return splits_; }
  [[nodiscard]] std::size_t poll_count() override { return polls_.size(); }
  std::string select_poll(std::size_t poll) override {
    poll_ = poll;
    return {};
  }
  Splits splits_;

 private:
  std::vector<std::vector<TypeRow>> polls_;
  std::size_t poll_ = 0;
};

TEST(NamedTypes, AreFoundByTheirNameOrWithTheirAllocator) {
  const std::vector<TypeRow> rows{row("slab", "TCP"),     row("socket", "TCP"),   row("slab", "dentry"),
                                  row("slab", "twin", 1), row("slab", "twin", 2), row("memcg", "/a/b")};
  EXPECT_THAT(find_named_type(rows, "dentry").types, SizeIs(1));
  EXPECT_THAT(find_named_type(rows, "slab/TCP").types, SizeIs(1));
  EXPECT_THAT(find_named_type(rows, "memcg//a/b").types, SizeIs(1));
  EXPECT_THAT(find_named_type(rows, "/a/b").types, SizeIs(1)) << "a name may have slashes";
  const NamedType twins = find_named_type(rows, "twin");
  EXPECT_EQ(sum_of(twins.types, kBytesInUse), 3U);
  EXPECT_EQ(find_named_type(rows, "TCP").problem, "several allocators have a type \"TCP\": give slab/TCP or socket/TCP");
  EXPECT_THAT(find_named_type(rows, "TCP").types, IsEmpty());
  EXPECT_THAT(find_named_type(rows, "dnetry").problem, HasSubstr("did you mean dentry?"));
  EXPECT_THAT(find_named_type(rows, "slab/dentri").problem, HasSubstr("did you mean slab/dentry?"));
  EXPECT_EQ(sum_of({}, kBytesInUse), std::nullopt);
}

TEST(NamedTypes, OfMergedSlabCachesAreFoundByEachName) {
  std::vector<TypeRow> rows{row("slab", "sig.queue"), row("slab", "sigxqueue"), row("vmalloc", "alias")};
  rows[0].also = {"alias", "inotify_inode_mark"};
  EXPECT_THAT(find_named_type(rows, "inotify_inode_mark").types, testing::ElementsAre(&rows[0]));
  EXPECT_THAT(find_named_type(rows, "slab/inotify_inode_mark").types, testing::ElementsAre(&rows[0]));
  EXPECT_THAT(find_named_type(rows, "alias").types, testing::ElementsAre(&rows[2])) << "a type's own name comes first";
  ReportView view;
  view.patterns.push_back(*NamePattern::compile(".*(inotify).*"));
  const ReportView wider = with_merged_names(view, rows);
  ASSERT_THAT(wider.patterns, SizeIs(2));
  EXPECT_TRUE(wider.patterns[1].matches("slab/sig.queue"));
  EXPECT_FALSE(wider.patterns[1].matches("slab/sigxqueue")) << "the name is not an expression";
  EXPECT_THAT(with_merged_names({}, rows).patterns, IsEmpty()) << "without a pattern all are selected";
}

TEST(NearestWords, CountLettersThatDiffer) {
  for (const char* slip : {"dnetry", "dentr", "Dentry", "dentrry"}) {
    EXPECT_EQ(did_you_mean(slip, std::vector<std::string>{"dentry"}), "; did you mean dentry?");
  }
  EXPECT_EQ(did_you_mean("xyzzy", std::vector<std::string>{"dentry"}), "");
  EXPECT_EQ(did_you_mean("dentr", std::vector<std::string>{"dentry"}, "who lists them"),
            "; did you mean dentry? who lists them");
  EXPECT_EQ(did_you_mean("xyzzy", std::vector<std::string>{"dentry"}, "who lists them"), "; who lists them");
  EXPECT_EQ(did_you_mean("xyzzy", std::vector<std::string>{"dentry"}, "Types: dentry"), ". Types: dentry");
  EXPECT_EQ(did_you_mean("inode", std::vector<std::string>{"a_inode_cache", "z"}), "; did you mean a_inode_cache?");
}

TEST(WatchReport, GoesThroughThePollsOfACaptureAlsoWhileTheTypeIsAway) {
  FakeSource source({{row("slab", "a", 100, 1)}, {row("slab", "b")}, {row("slab", "a", 300, 3)}});
  testing::internal::CaptureStdout();
  const Report report = watch(source, {.walk = {}, .type = "a", .view = {.layout = Layout::kCsv}});
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "time,type,bytes,objects,change_bytes,change_bytes_per_second,failures\n"
            "1970-01-01T00:00:00Z,slab/a,100,1,,,0\n1970-01-01T00:00:10Z,slab/a,,,,,\n"
            "1970-01-01T00:00:20Z,slab/a,300,3,,,0\n");
  EXPECT_EQ(report.problem, "");
  FakeSource other({{row("slab", "b")}});
  EXPECT_THAT(watch(other, {.walk = {}, .type = "a", .view = {}}).problem, HasSubstr("there is no type \"a\""));
}

TEST(PollWalkTest, BeginsAtTheGivenPollAndEndsWithTheCount) {
  FakeSource source({{row("slab", "a", 1)}, {row("slab", "a", 2)}, {row("slab", "a", 3)}});
  PollWalk walk(source, {.first = 1, .interval_ns = 0, .count = 1});
  EXPECT_EQ(walk.expected(), 1U);
  ASSERT_TRUE(walk.next());
  EXPECT_EQ(walk.poll(), 1U);
  EXPECT_EQ(walk.sample().types.at(0).bytes, 2U);
  EXPECT_FALSE(walk.next());
  EXPECT_EQ(walk.problem(), "");
  PollWalk beyond(source, {.first = 9, .interval_ns = 0, .count = {}});
  EXPECT_FALSE(beyond.next());
  EXPECT_EQ(first_poll_of("a@3"), 3U);
  EXPECT_EQ(first_poll_of("a@b"), 0U);
  EXPECT_EQ(first_poll_of("a"), 0U);
  EXPECT_EQ(first_poll_of(std::nullopt), 0U);
}

TEST(ShowReport, HasSharesOfTheFirstFigureThatIsNotZero) {
  FakeSource source({{row("slab", "a"), row("slab", "none")}});
  source.splits_.cpus.push_back({.title = "allocations", .is_bytes = false, .values = {30, std::nullopt, 10}});
  source.splits_.nodes.push_back({.title = "held_bytes", .is_bytes = true, .values = {0, 4096}});
  EXPECT_EQ(show(source, "a", {.layout = Layout::kCsv}).output, "cpu,allocations,share_ratio\n0,30,0.75\n2,10,0.25\n");
  const std::string text = show(source, "slab/a", {.layout = Layout::kText}).output;
  EXPECT_THAT(text, HasSubstr("  0           30    75%  ###############\n")) << text;
  EXPECT_THAT(text, HasSubstr("4.0K   100%  ####################")) << text;
  EXPECT_THAT(show(source, "a", {.layout = Layout::kJson}).output, HasSubstr("\"share_ratio\": 0.75"));
  source.splits_ = {};
  const Report report = show(source, "none", {.layout = Layout::kText});
  EXPECT_EQ(report.problem, "");
  EXPECT_THAT(report.notes, testing::ElementsAre(HasSubstr("does not count slab/none by CPU")));
}

}  // namespace
}  // namespace memstat::ctl
