// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/snapshot/history.h"

#include "tests/support/test.h"

namespace memstat {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kEpoch = 1'700'000'000 * kSecond;

/// Polls by hand, ten seconds apart.
class HistoryTest : public testing::Test {
 protected:
  void poll(std::initializer_list<std::pair<std::uint32_t, std::uint64_t>> amounts) {
    begin();
    for (const auto& [type, amount] : amounts) history_.add(type, HistoryFigure::kAmount, amount);
    history_.finish();
  }
  void begin() {
    now_ns_ += 10 * kSecond;
    history_.begin(now_ns_, kEpoch + now_ns_);
  }
  [[nodiscard]] std::vector<std::uint64_t> values(std::uint32_t type, HistoryFigure figure = HistoryFigure::kAmount) const {
    std::vector<std::uint64_t> values;
    for (const HistoryPoint& point : history_.points(type, figure)) values.push_back(point.value);
    return values;
  }

  std::int64_t now_ns_ = 5 * kSecond;
  History history_;
};

TEST_F(HistoryTest, HasAPointForEachPollWithItsTime) {
  EXPECT_TRUE(history_.points(0, HistoryFigure::kAmount).empty());
  poll({{0, 100}, {1, 7}});
  poll({{0, 100}, {1, 0}});
  poll({{0, UINT64_MAX / 2}, {1, 9}});
  EXPECT_EQ(values(0), (std::vector<std::uint64_t>{100, 100, UINT64_MAX / 2}));
  EXPECT_EQ(values(1), (std::vector<std::uint64_t>{7, 0, 9})) << "0 is a value";
  const auto points = history_.points(0, HistoryFigure::kAmount);
  EXPECT_EQ(points[0].time_ns, kEpoch + 15 * kSecond);
  EXPECT_EQ(points[2].time_ns, kEpoch + 35 * kSecond);
  EXPECT_TRUE(values(2).empty());
  EXPECT_TRUE(values(4'000'000'000).empty());
}

TEST_F(HistoryTest, ANumberThatIsUsedAgainShowsNothingOfTheTypeBefore) {
  poll({{0, 1}, {1, 1}});
  poll({{1, 2}});
  history_.forget(0);
  poll({{0, 50}, {1, 3}});
  EXPECT_EQ(values(0), (std::vector<std::uint64_t>{50}));
  const History::Overview overview = history_.overview(3600, 3);
  EXPECT_EQ(overview.amounts[0], 0U);
  EXPECT_EQ(overview.amounts[2], 51U);
}

TEST_F(HistoryTest, SamplesAreOfPollsThemselves) {
  EXPECT_TRUE(history_.samples(3600, 10).times_ns.empty());
  for (std::uint64_t i = 1; i <= 7; ++i) poll({{2, 10 * i}});
  const History::Samples all = history_.samples(3600, 100);
  EXPECT_EQ(all.times_ns.size(), 7U);
  EXPECT_EQ(all.times_ns.back(), now_ns_);
  EXPECT_EQ(std::vector<std::uint64_t>(all.of(2).begin(), all.of(2).end()),
            (std::vector<std::uint64_t>{11, 21, 31, 41, 51, 61, 71}));
  EXPECT_TRUE(all.of(4000).empty());
  EXPECT_EQ(history_.samples(30, 100).times_ns.size(), 4U);
  const History::Samples few = history_.samples(3600, 3);
  EXPECT_EQ(std::vector<std::uint64_t>(few.of(2).begin(), few.of(2).end()), (std::vector<std::uint64_t>{11, 41, 71}));
}

TEST_F(HistoryTest, SeriesWithNamesMayBeBelowZero) {
  for (std::int64_t i = 0; i < 3; ++i) {
    begin();
    history_.add_named("other", 7);
    history_.add_named("unaccounted", static_cast<std::uint64_t>(i - 1));
    history_.finish();
  }
  const History::Samples samples = history_.samples(3600, 10);
  EXPECT_EQ(samples.names, (std::vector<std::string>{"other", "unaccounted"}));
  std::vector<std::int64_t> amounts;
  for (const std::uint64_t amount : samples.of(1)) amounts.push_back(static_cast<std::int64_t>(amount - 1));
  EXPECT_EQ(amounts[0], -2) << "-1 cannot be distinguished from its neighbour, as for types";
  EXPECT_EQ(amounts[1], 0);
  EXPECT_EQ(amounts[2], 1);
  for (int i = 0; i < 100; ++i) history_.add_named("name " + std::to_string(i), 1);
  history_.finish();
  EXPECT_EQ(history_.samples(3600, 10).names.size(), History::kNamedSeries);
}

TEST_F(HistoryTest, TwoHoursOfPollsAndADayOfMinutesAreKept) {
  std::uint64_t amount = 0;
  for (std::size_t i = 0; i < 10'000; ++i) poll({{3, ++amount}});
  const auto points = history_.points(3, HistoryFigure::kAmount);
  EXPECT_EQ(points.back().value, 10'000U);
  const std::int64_t newest = points.back().time_ns;
  EXPECT_EQ(newest - points[0].time_ns, (24 * 60 - 1) * 60 * kSecond + (newest - points[0].time_ns) % (60 * kSecond));
  const auto recent = std::count_if(points.begin(), points.end(),
                                    [&](const HistoryPoint& point) { return newest - point.time_ns <= 7190 * kSecond; });
  EXPECT_EQ(recent, 720);
  for (std::size_t i = 1; i < points.size(); ++i) ASSERT_LT(points[i - 1].time_ns, points[i].time_ns);
}

TEST_F(HistoryTest, IsNeverLargerThanItsBoundAndItsNewestPointsAreRight) {
  constexpr std::size_t kBytes = 200'000;
  constexpr std::uint32_t kTypes = 250;
  history_.configure(kBytes);
  ASSERT_GE(history_.max_types(), kTypes);
  std::mt19937_64 random(1);  // NOLINT: the same polls at each run
  std::vector<std::vector<std::uint64_t>> expected(kTypes);
  for (int i = 0; i < 800; ++i) {
    begin();
    for (std::uint32_t type = 0; type < kTypes; ++type) {
      const std::uint64_t amount = random() >> (random() % 64);
      history_.add(type, HistoryFigure::kAmount, amount);
      expected[type].push_back(std::min(amount, UINT64_MAX - 1));
    }
    history_.finish();
    ASSERT_LE(history_.bytes(), kBytes);
  }
  for (std::uint32_t type = 0; type < kTypes; ++type) {
    const std::vector<std::uint64_t> kept = values(type);
    ASSERT_GE(kept.size(), 5U);
    std::size_t polls = 0;  // at the end of the history, a point for each poll
    while (polls < kept.size() && kept[kept.size() - 1 - polls] == expected[type][expected[type].size() - 1 - polls])
      ++polls;
    EXPECT_GE(polls, 5U) << type;
  }
}

TEST_F(HistoryTest, OfTypesBeyondItsRoomItKeepsNothing) {
  history_.configure(100'000);
  const auto beyond = static_cast<std::uint32_t>(history_.max_types());
  poll({{0, 1}, {beyond, 2}, {UINT32_MAX, 3}});
  EXPECT_EQ(values(0).size(), 1U);
  EXPECT_TRUE(values(beyond).empty());
  EXPECT_LE(history_.bytes(), 100'000U);
}

TEST_F(HistoryTest, IsOffWithoutRoomAndForgetsWhenItsBoundChanges) {
  poll({{0, 1}});
  history_.configure(History::kDefaultBytes);
  EXPECT_EQ(values(0).size(), 1U) << "the same bound changes nothing: a reload keeps the history";
  history_.configure(0);
  EXPECT_FALSE(history_.is_on());
  poll({{0, 1}});
  EXPECT_TRUE(values(0).empty());
  EXPECT_EQ(history_.bytes(), 0U);
  history_.configure(1000);
  EXPECT_FALSE(history_.is_on()) << "less than its frames take";
  EXPECT_TRUE(history_.overview(60, 10).times_ns.empty());
}

TEST_F(HistoryTest, TheOverviewHasAllTypesAtEvenTimesAndWhatFailedMeanwhile) {
  for (std::uint64_t i = 0; i < 61; ++i) {
    begin();
    history_.add(0, HistoryFigure::kAmount, 1000 * i);
    history_.add(0, HistoryFigure::kFailures, i < 30 ? 5 : 12);
    if (i > 50) history_.add(1, HistoryFigure::kAmount, 4);
    history_.finish();
  }
  const History::Overview overview = history_.overview(3600, 7);
  ASSERT_EQ(overview.times_ns.size(), 7U);
  EXPECT_EQ(overview.times_ns[6] - overview.times_ns[0], 600 * kSecond) << "as far as there is any";
  const auto at = [&](std::size_t type, std::size_t point) { return overview.amounts[type * 7 + point]; };
  EXPECT_EQ(at(0, 0), 1U);
  EXPECT_EQ(at(0, 3), 30'001U);
  EXPECT_EQ(at(0, 6), 60'001U);
  EXPECT_EQ(at(1, 5), 0U);
  EXPECT_EQ(at(1, 6), 5U);
  EXPECT_EQ(overview.failures[0], 7U) << "those before it began are not counted";
  EXPECT_EQ(history_.overview(60, 2).failures[0], 0U);
}

}  // namespace
}  // namespace memstat
