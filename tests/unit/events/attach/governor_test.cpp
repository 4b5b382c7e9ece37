// SPDX-License-Identifier: BSD-2-Clause
// The decisions of the governor of events at rates chosen by the test, and their text in a table.
#include "core/events/attach/governor.h"
#include "core/events/attach/event_settings.h"
#include "core/query.h"
#include "tests/support/staged_statistics.h"
#include "tests/support/table_text.h"
#include "tests/support/test.h"

namespace memstat::events {
namespace {

constexpr std::uint64_t kOnePercent = 10'000;
constexpr std::int64_t kSecond = 1'000'000'000;

/// A table with events at a rate. An event takes 30 ns, or 20 if it is skipped.
class Table {
 public:
  explicit Table(EventBudget& budget, std::uint64_t budget_ppm = kOnePercent) : governor_(budget_ppm, budget) {
    governor_.start({.counted = 30, .passed_over = 20}, 0, 0);
  }
  void pass(std::int64_t seconds, std::uint64_t events_a_second) { pass_ms(1000 * seconds, events_a_second); }
  void pass_ms(std::int64_t milliseconds, std::uint64_t events_a_second) {
    now_ += milliseconds * (kSecond / 1000);
    events_ += static_cast<std::uint64_t>(milliseconds) * events_a_second / 1000;
    governor_.look(events_, 0, 0, now_);
  }
  void measure(std::int64_t seconds, std::uint64_t run_ns, std::uint64_t runs) {
    now_ += seconds * kSecond;
    governor_.look(events_, run_ns, runs, now_);
  }
  /// Time passes while it is detached.
  void sleep(std::int64_t seconds) { now_ += seconds * kSecond; }
  void try_again() { governor_.try_again(events_, now_); }
  [[nodiscard]] const GovernorFacts& facts() const { return governor_.facts(); }

 private:
  Governor governor_;
  std::int64_t now_ = 0;
  std::uint64_t events_ = 0;
};

TEST(Governor, CountsAllWithinTheBudget) {
  EventBudget budget;
  Table table(budget);
  for (int i = 0; i < 100; ++i) table.pass(10, 300'000);
  EXPECT_TRUE(table.facts().is_attached);
  EXPECT_EQ(table.facts().weight, 1U);
  EXPECT_EQ(table.facts().cost_ns, std::uint64_t{1000} * 300'000 * 30);
  EXPECT_EQ(table.facts().sampled_ns, 0U);
}

TEST(Governor, CountsAPartOfTheTimeBeyondTheBudgetAndAllAgainBehindIt) {
  EventBudget budget;
  Table table(budget);
  for (int i = 0; i < 200; ++i) table.pass(10, 400'000);  // 1.2 % of a CPU, 0.8 % if skipped
  EXPECT_TRUE(table.facts().is_attached);
  EXPECT_GT(table.facts().sampled_ns, 0U);
  const double used = static_cast<double>(table.facts().cost_ns) / (2000.0 * kSecond);
  EXPECT_LT(used, 0.01 * 1.2);
  EXPECT_GT(used, 0.01 * 0.8);
  const std::uint64_t sampled_ns = table.facts().sampled_ns;
  for (int i = 0; i < 10; ++i) table.pass(10, 1000);
  EXPECT_EQ(table.facts().weight, 1U);
  EXPECT_LE(table.facts().sampled_ns, sampled_ns + 10 * kSecond);
}

/// The largest share of the budget that any minute took, in ten minutes under a load, measured as the daemon does.
double worst_minute(std::uint64_t events_a_second, std::uint64_t budget_ppm) {
  EventBudget budget;
  Table table(budget, budget_ppm);
  for (int look = 0; look < 4 * 60; ++look) table.pass_ms(250, 0);  // the credit may be spent
  std::vector<std::uint64_t> costs{0};                              // in ns, at each look
  for (int look = 0; look < 4 * 600; ++look) {
    table.pass_ms(250, events_a_second);
    costs.push_back(table.facts().cost_ns);
  }
  constexpr std::size_t kLooksAMinute = 240;
  std::uint64_t most = 0;
  for (std::size_t look = kLooksAMinute; look < costs.size(); ++look)
    most = std::max(most, costs[look] - costs[look - kLooksAMinute]);
  return static_cast<double>(most) / (60.0 * kSecond) / (static_cast<double>(budget_ppm) / 1e6);
}

TEST(Governor, KeepsItsBudgetWithinAFifthWhenCheckedBetweenPolls) {
  for (const std::uint64_t percent : {1, 2, 4, 7, 9, 10, 11, 12, 13, 14, 15}) {
    EXPECT_LT(worst_minute(5'000'000, percent * kOnePercent), 1.2) << percent << " %";
  }
  for (const std::uint64_t thousands : {300, 330, 350, 400, 450, 500, 510, 550, 600, 800, 1000, 2000, 3000}) {
    EXPECT_LT(worst_minute(thousands * 1000, kOnePercent), 1.2) << thousands << " thousand events a second";
  }
}

TEST(Governor, LetsShortBurstsPassHoweverOftenItLooks) {
  EventBudget budget;
  Table table(budget);
  for (int second = 0; second < 600; ++second) {  // 0.9 % of a CPU, in a quarter of each second four times as much
    table.pass_ms(250, 1'200'000);
    for (int look = 0; look < 3; ++look) table.pass_ms(250, 0);
  }
  EXPECT_TRUE(table.facts().is_attached);
  EXPECT_EQ(table.facts().weight, 1U);
}

TEST(Governor, DetachesWhenPassingEventsOverTakesTooMuch) {
  EventBudget budget;
  Table table(budget);
  for (int i = 0; i < 10 && table.facts().is_attached; ++i) table.pass(10, 5'000'000);
  EXPECT_FALSE(table.facts().is_attached);
  const std::uint64_t cost_ns = table.facts().cost_ns;
  table.pass(1000, 0);
  EXPECT_FALSE(table.facts().is_attached);
  EXPECT_EQ(table.facts().cost_ns, cost_ns) << "detached programs cost nothing";
}

TEST(Governor, BeginsATrialWithTheFewestEventsAndContinuesWithAll) {
  EventBudget budget;
  Table table(budget);
  while (table.facts().is_attached) table.pass(10, 5'000'000);
  const std::uint64_t cost_ns = table.facts().cost_ns;
  table.sleep(60);
  table.try_again();
  EXPECT_TRUE(table.facts().is_attached);
  EXPECT_EQ(table.facts().weight, 64U);
  EXPECT_EQ(table.facts().cost_ns, cost_ns) << "nothing was counted meanwhile";
  for (int i = 0; i < 10; ++i) table.pass(10, 1000);
  EXPECT_TRUE(table.facts().is_attached);
  EXPECT_EQ(table.facts().weight, 1U);
}

TEST(Governor, EndsATrialUnderTheSameLoadAndKeepsTheBudgetWithAllOfThem) {
  EventBudget budget;
  Table table(budget);
  std::int64_t seconds = 0;
  for (const std::int64_t delay : {60, 120, 240, 480, 960, 1920, 3600}) {
    for (int looks = 0; table.facts().is_attached; ++looks, seconds += 10) {
      ASSERT_LT(looks, 10);
      table.pass(10, 5'000'000);
    }
    table.sleep(delay);
    seconds += delay;
    table.try_again();
  }
  const double used = static_cast<double>(table.facts().cost_ns) / static_cast<double>(seconds * kSecond);
  EXPECT_LT(used, 0.01 * 1.2);
}

TEST(Governor, DetachesTheTableThatTakesMostAndThenJudgesTheOther) {
  EventBudget budget;
  Table small(budget);
  Table large(budget);
  for (int i = 0; i < 40; ++i) {
    small.pass(10, 200'000);
    large.pass(10, 3'000'000);
  }
  EXPECT_FALSE(large.facts().is_attached);
  EXPECT_TRUE(small.facts().is_attached);
  EXPECT_EQ(small.facts().weight, 1U);
}

TEST(Governor, SharesTheBudgetAmongTables) {
  EventBudget budget;
  Table first(budget);
  Table second(budget);
  for (int i = 0; i < 100; ++i) {
    first.pass(10, 200'000);
    second.pass(10, 200'000);
  }
  EXPECT_GT(first.facts().sampled_ns, 0U) << "each alone would be within it";
  EXPECT_GT(second.facts().sampled_ns, 0U);
}

TEST(Governor, TakesWhatTheKernelMeasuredWhereThatIsMore) {
  EventBudget budget;
  Table table(budget);
  table.measure(10, 1'000'000, 1000);
  EXPECT_EQ(table.facts().cost_ns, 1'000'000U + 1000U * 20U);
}

TEST(Governor, DoesNotSampleProgramsThatCannotBe) {
  EventBudget budget;
  Governor governor(kOnePercent, budget);
  governor.start({.counted = 30, .passed_over = 30}, 0, 0);
  std::uint64_t events = 0;
  for (std::int64_t i = 1; i <= 100 && governor.is_attached(); ++i) {
    events += 4'000'000;
    governor.look(events, 0, 0, i * 10 * kSecond);
    EXPECT_EQ(governor.mask(), 0U);
  }
  EXPECT_FALSE(governor.is_attached());
}

TEST(EventSettings, AreTheWordsOfTheOption) {
  EXPECT_FALSE(event_settings("failures 10000").counts_all);
  EXPECT_TRUE(event_settings("counters 2500").counts_all);
  EXPECT_FALSE(event_settings("counters 2500").is_full);
  EXPECT_EQ(event_settings("counters 2500").budget_ppm, 2500U);
  EXPECT_TRUE(event_settings("full 1").counts_all);
  EXPECT_TRUE(event_settings("full 1").is_full);
  EXPECT_EQ(event_settings("").budget_ppm, kOnePercent);
  EXPECT_EQ(event_settings("counters 0").budget_ppm, kOnePercent);
  EXPECT_FALSE(event_settings("counters 2500").has_gfp_classes);
  EXPECT_TRUE(event_settings("counters 2500 gfp_classes").has_gfp_classes);
}

class GovernorOfASource : public testing::Test {
 protected:
  Result<void> parse(const std::string& lines) {
    reader_.raw.parts[0].assign("slab_events 1\nkmalloc_frees 1\ncounted_by_sysfs 0\nunplaced 0\nmissed 0\n" + lines +
                                "end\n");
    reader_.raw.cpu_count = 1;
    return parse_source(reader_);
  }
  double statistic(const std::string& metric) const {
    return std::bit_cast<double>(statistics_of(reader_.staging).at("events_" + metric + "{linux_slab_events}"));
  }
  SourceReader reader_{*find_source("linux_slab_events")};
};

/// The row as a line of a recording.
std::string line_of(const GovernorFacts& facts) {
  static constexpr TableFormat kFormat{"a", "a 1", {&kGovernorRow, 1}, ""};
  Buffer out;
  TableWriter rows(kFormat, out);
  add_governor(rows, facts);
  const std::string text = text_of(kFormat, out);
  return text.substr(4, text.size() - 8);
}

TEST_F(GovernorOfASource, IsAMetric) {
  const std::string line =
      line_of({.weight = 4, .cost_ns = 1'500'000'000, .sampled_ns = 2'000'000'000, .budget_ppm = 10'000});
  EXPECT_EQ(line, "governor 1 4 1500000000 2000000000 10000\n");
  ASSERT_TRUE(parse(line + "type 8 a\n"));
  EXPECT_EQ(statistic("cost_seconds_total"), 1.5);
  EXPECT_EQ(statistic("sampled_seconds_total"), 2);
  EXPECT_EQ(statistic("counted_ratio"), 0.25);
  EXPECT_EQ(statistic("budget_ratio"), 0.01);
  EXPECT_NE(reader_.staging.note().find("exact counts: "), std::string::npos);
}

TEST_F(GovernorOfASource, SaysThatItIsDetached) {
  ASSERT_TRUE(parse("governor 0 1 1 0 10000\n")) << "missing figures are not an error then";
  EXPECT_EQ(statistic("counted_ratio"), 0);
  EXPECT_NE(reader_.staging.note().find("until it is restarted"), std::string::npos);
  ASSERT_TRUE(parse("governor 0 1 1 0 10000 later\n"));
  EXPECT_NE(reader_.staging.note().find("tries again"), std::string::npos);
  ASSERT_TRUE(parse("governor 0 1 1 0 10000 lost\n"));
  EXPECT_NE(reader_.staging.note().find("restart memstatd to count events again"), std::string::npos);
  EXPECT_FALSE(parse("")) << "of one parse, not of the next";
}

TEST_F(GovernorOfASource, IsWrittenWithWhatBecomesOfIt) {
  for (const auto& [again, word] : {std::pair{GovernorFacts::kNever, ""}, std::pair{GovernorFacts::kLater, " later"},
                                    std::pair{GovernorFacts::kLost, " lost"}}) {
    const std::string line = line_of({.is_attached = false, .budget_ppm = 7, .again = again});
    EXPECT_EQ(line, std::string("governor 0 1 0 0 7") + word + "\n");
    ASSERT_TRUE(parse(line));
    EXPECT_EQ(line_of({.is_attached = true, .budget_ppm = 7, .again = again}), "governor 1 1 0 0 7\n")
        << "irrelevant for attached programs";
  }
}

TEST_F(GovernorOfASource, IsOneLineOfFiveNumbers) {
  for (const char* line :
       {"governor\n", "governor 1 1 1 1 1 later\n", "governor 0 1 1 1 1 soon\n", "governor 0 1 1 1 1 later lost\n",
        "governor 1 1 1 1\n", "governor 1 1 1 1 1 1\n", "governor 2 1 1 1 1\n", "governor 1 0 1 1 1\n",
        "governor x 1 1 1 1\n", "governor 0 1 1 1 1\ngovernor 0 1 1 1 1\n"}) {
    EXPECT_FALSE(parse(line)) << line;
  }
}

}  // namespace
}  // namespace memstat::events
