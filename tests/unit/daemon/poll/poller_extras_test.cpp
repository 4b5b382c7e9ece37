// SPDX-License-Identifier: BSD-2-Clause
// How statistics, figures of nodes and details appear on the page and vanish, with the test's own sources.
#include "core/base/text.h"
#include "core/model/accounts.h"
#include "tests/support/polled_daemon.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

constexpr std::string_view kParts = "/fake/parts";  // "PART BYTES" a line
constexpr std::string_view kSites = "/fake/sites";  // "NAME BYTES DETAIL" a line
constexpr std::string_view kNodes = "/fake/nodes";  // "NAME BYTES BYTES" a line: on node 0 and 1

Result<void> open_no_file(KernelView&, RawBytes&) { return {}; }
template <const std::string_view& kPath>
Result<void> read_path(KernelView& view, RawBytes& raw) {
  return view.read_file(kPath, raw.parts[0]);
}
/// Calls `use(words)` for each line of three words.
template <typename Use>
void for_lines(const RawBytes& raw, Use use) {
  std::string_view rest = raw.parts[0].view();
  for (std::string_view line; next_line(rest, line);) {
    std::array<std::string_view, 3> words;
    for (std::string_view& word : words) next_word(line, word);
    use(words);
  }
}
Result<void> parse_parts(const RawBytes& raw, Staging& staging) {
  staging.reset({}, 0);
  for_lines(raw, [&](const auto& words) { staging.statistics().add(kAccountedBytes, *parse_u64(words[1]), {words[0]}); });
  if (staging.statistics().entries().empty()) {
    return Error{.code = ErrorCode::kData, .source = {}, .path = std::string(kParts), .detail = "no part"};
  }
  return {};
}
Result<void> parse_sites(const RawBytes& raw, Staging& staging) {
  staging.reset({}, 0);
  for_lines(raw, [&](const auto& words) {
    StagedType& type = staging.merge(words[0]);
    type.fields.add(Field::kBytes);
    type.figures[Field::kBytes] = *parse_u64(words[1]);
    type.detail = staging.keep_text(words[2]);
  });
  return {};
}
Result<void> parse_nodes(const RawBytes& raw, Staging& staging) {
  staging.reset({}, 0);
  staging.set_nodes(NodeFieldMask(NodeField::kHeldBytes), 2);
  for_lines(raw, [&](const auto& words) {
    StagedType& type = staging.merge(words[0]);
    for (std::uint32_t node = 0; node < 2; ++node) {
      staging.node_figure(type, NodeField::kHeldBytes, node) = *parse_u64(words[node + 1]);
    }
  });
  return {};
}

SourceDescriptor source(std::string_view name, std::string_view path, Allocator allocator) {
  return {.name = name,
          .origin = path,
          .os = OperatingSystem::kLinux,
          .allocator = allocator,
          .is_roster = false,
          .fields = {},
          .cpu_fields = {},
          .notes = "of a test",
          .steps = {}};
}

class PollerExtrasTest : public testing::Test {
 protected:
  PollerExtrasTest() {
    parts_.steps = source_steps<ReaderState, open_no_file, read_path<kParts>, parse_parts>();
    sites_.is_roster = true;
    sites_.fields = FieldMask(Field::kBytes);
    sites_.steps = source_steps<ReaderState, open_no_file, read_path<kSites>, parse_sites>();
    nodes_.node_fields = NodeFieldMask(NodeField::kHeldBytes);
    nodes_.steps = source_steps<ReaderState, open_no_file, read_path<kNodes>, parse_nodes>();
    config_.poll.timeout = std::chrono::hours(1);
    config_.tier = Tier::kFull;
    view_->set(kParts, "slab 5\npage_tables 6\n");
    view_->set(kSites, "f 10 mm/f.c:1\ng 20 mm/g.c:2\n");
    view_->set(kNodes, "f 3 4\n");
    poller_ = std::make_unique<Poller>(view_, clock_, metrics_, pool_, config_, Poller::Options{.log = {}, .sources = all_});
  }
  std::string poll() {
    clock_.advance(std::chrono::seconds(10));
    poller_->poll(clock_.monotonic_ns());
    const auto snapshot = pool_.current();
    EXPECT_EQ(problem_of(page_of(*snapshot, kFallbackFormat)), "");
    return std::string(page_of(*snapshot, kFallbackFormat));
  }
  void configure() { poller_->configure(config_); }

  SourceDescriptor parts_ = source("parts", kParts, Allocator::kUnknown);
  SourceDescriptor sites_ = source("sites", kSites, Allocator::kCallSite);
  SourceDescriptor nodes_ = source("site_nodes", kNodes, Allocator::kCallSite);
  std::array<const SourceDescriptor*, 3> all_{&parts_, &sites_, &nodes_};
  ManualClock clock_;
  SelfMetrics metrics_{"1.2.3"};
  SnapshotPool pool_;
  Config config_;
  std::shared_ptr<FakeKernelView> view_ = std::make_shared<FakeKernelView>(OperatingSystem::kLinux, 2);
  std::unique_ptr<Poller> poller_;
};

constexpr const char* kSlab = "memstat_accounted_bytes{part=\"slab\"}";
constexpr const char* kDetailOfF = "memstat_type_detail{allocator=\"call_site\",type=\"f\",detail=\"mm/f.c:1\"}";
constexpr const char* kNode1OfF = "memstat_node_held_bytes{allocator=\"call_site\",type=\"f\",node=\"1\"}";

TEST_F(PollerExtrasTest, APollPublishesThemAll) {
  const std::string page = poll();
  EXPECT_EQ(value_of(page, kSlab), "5");
  EXPECT_EQ(value_of(page, kDetailOfF), "1");
  EXPECT_EQ(value_of(page, kNode1OfF), "4");
  EXPECT_EQ(value_of(metrics_.text(), "memstat_series"), std::to_string(pool_.current()->series));
  view_->set(kParts, "slab 7\n");
  view_->set(kNodes, "g 1 2\nf 8 9\n");
  view_->set(kSites, "f 10 mm/f.c:11\n");
  const std::string next = poll();
  EXPECT_EQ(value_of(next, kSlab), "7");
  EXPECT_EQ(value_of(next, kNode1OfF), "9");
  EXPECT_THAT(next, Not(HasSubstr("page_tables")));
  EXPECT_THAT(next, HasSubstr("detail=\"mm/f.c:11\"} 1\n"));
  EXPECT_THAT(next, Not(HasSubstr("type=\"g\"")));
}

TEST_F(PollerExtrasTest, TheTierIsThatOfTypes) {
  config_.tier = Tier::kMinimal;
  configure();
  const std::string page = poll();
  EXPECT_EQ(value_of(page, kSlab), "5");
  EXPECT_THAT(page, Not(HasSubstr("memstat_type_detail")));
  EXPECT_THAT(page, Not(HasSubstr("memstat_node_")));
  EXPECT_TRUE(pool_.current()->details().empty()) << "no work for values that are not shown";
  EXPECT_TRUE(pool_.current()->node_blocks().empty());
  config_.tier = Tier::kFull;
  configure();
  EXPECT_EQ(value_of(poll(), kDetailOfF), "1") << "after a reload";
}

TEST_F(PollerExtrasTest, ASourcesFiguresLeaveThePageWhileItIsDown) {
  poll();
  view_->fail(kParts, EIO);
  view_->fail(kNodes, EIO);
  std::string page = poll();
  EXPECT_THAT(page, Not(HasSubstr("memstat_accounted_bytes")));
  EXPECT_THAT(page, Not(HasSubstr("memstat_node_")));
  EXPECT_EQ(value_of(page, kDetailOfF), "1");
  view_->set(kParts, "");
  EXPECT_THAT(poll(), Not(HasSubstr("memstat_accounted_bytes"))) << "a parse that fails";
  view_->set(kParts, "slab 8\n");
  view_->set(kNodes, "f 5 6\n");
  page = poll();
  EXPECT_EQ(value_of(page, kSlab), "8");
  EXPECT_EQ(value_of(page, kNode1OfF), "6");
  view_->fail(kSites, EIO);
  page = poll();
  EXPECT_THAT(page, Not(HasSubstr("memstat_type_detail")));
}

TEST_F(PollerExtrasTest, NothingStaleIsLeftWhenAReplayStartsOver) {
  config_.sources["parts"].interval = std::chrono::hours(1);
  configure();
  poll();
  view_->set(kParts, "other 1\n");
  view_->set(kSites, "f 10\n");
  view_->set(kNodes, "g 1 1\n");
  poller_->forget_everything();
  const std::string page = poll();
  EXPECT_THAT(page, Not(HasSubstr("slab")));
  EXPECT_EQ(value_of(page, "memstat_accounted_bytes{part=\"other\"}"), "1");
  EXPECT_THAT(page, Not(HasSubstr("memstat_type_detail")));
  EXPECT_THAT(page, Not(HasSubstr("memstat_node_")));
}

}  // namespace
}  // namespace memstat
