// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/snapshot/evidence_builder.h"

#include "core/model/accounts.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

constexpr std::int64_t kPollNs = 10'000'000'000;

Count change(CounterMemory& memory, std::uint64_t number, double value) {
  memory.update(number, value, true);
  return memory.count(number);
}

TEST(CounterMemory, RemembersTheCountersThatAreKeptUnderTheirNewNumbers) {
  CounterMemory memory;
  memory.begin(0);
  for (std::uint64_t number = 0; number < 100; ++number) change(memory, number, 10.0 * static_cast<double>(number));
  memory.begin(kPollNs);
  change(memory, 70, 730);
  memory.keep(std::array<std::uint32_t, 2>{70, 3});
  memory.begin(2 * kPollNs);
  const Count first = change(memory, 0, 740);
  EXPECT_EQ(first.since_start, 40);
  EXPECT_EQ(first.last, 10);
  EXPECT_EQ(change(memory, 1, 31).recent, 1);
  EXPECT_EQ(change(memory, 2, 500).recent, 0) << "is new";
}

TEST(CounterMemory, HasTheHighestValueOfTheWindow) {
  CounterMemory memory;
  std::int64_t now = 0;
  const auto value = [&](double amount) {
    memory.begin(now += 10'000'000'000);
    memory.update(0, amount, false);
    return memory.count(0).highest;
  };
  EXPECT_EQ(value(5), 5);
  EXPECT_EQ(value(90), 90);
  EXPECT_EQ(value(7), 90);
  for (int i = 0; i < 200; ++i) value(7);  // longer than two windows
  EXPECT_EQ(value(7), 7);
}

TEST(CounterMemory, ForgetsOnlyForgottenCountersWhenItShrinks) {
  CounterMemory memory;
  memory.begin(0);
  for (std::uint64_t number = 0; number < 100; ++number) change(memory, number, 10);
  for (std::uint64_t number = 0; number < 100; ++number) {
    if (number != 5) memory.forget(number);
  }
  memory.shrink();
  memory.begin(kPollNs);
  EXPECT_EQ(change(memory, 5, 12).since_start, 2);
  EXPECT_EQ(change(memory, 99, 12).since_start, 0);
}

TEST(CounterMemory, KnowsHowLongACounterHasStoodStill) {
  CounterMemory memory;
  const auto poll = [&](std::int64_t polls, double value) {
    memory.begin(polls * kPollNs);
    return change(memory, 0, value).still;
  };
  poll(0, 5);
  EXPECT_EQ(poll(1, 9), 0);
  EXPECT_EQ(poll(2, 9), 10);
  EXPECT_EQ(poll(5, 9), 40);
  EXPECT_EQ(poll(6, 10), 0);
}

/// Polls of a machine without types.
class EvidenceOfPolls : public ::testing::Test {
 protected:
  void poll(Snapshot& snapshot, std::initializer_list<std::pair<std::string_view, std::uint64_t>> parts) {
    statistics_.clear();
    for (const auto& [part, bytes] : parts) statistics_.add(kAccountedBytes, bytes, {part});
    builder_.build(list_, {}, {}, 1, {}, snapshot, {}, {.statistics = all_});
    evidence_.update(snapshot, {}, now_ns_ += kPollNs);
  }
  [[nodiscard]] Count change(std::string_view part) const {
    const std::shared_ptr<const PollEvidence> built = evidence_.current();
    const MetricEvidence* const sample = built->evidence.sample(kAccountedBytes.facts.name, part);
    return sample == nullptr ? Count() : sample->change;
  }

  MemoryTypeList list_;
  SnapshotBuilder builder_;
  StagedStatistics statistics_;
  const StagedStatistics* all_[1] = {&statistics_};
  EvidenceBuilder evidence_;
  std::int64_t now_ns_ = 0;
};

TEST_F(EvidenceOfPolls, HasTheChangesOfEachPoll) {
  EXPECT_EQ(evidence_.current(), nullptr);
  std::array<Snapshot, 2> snapshots;
  poll(snapshots[0], {{"slab", 10}, {"free", 1}});
  poll(snapshots[1], {{"slab", 12}, {"free", 1}});
  poll(snapshots[0], {{"slab", 13}, {"free", 1}});
  EXPECT_EQ(change("slab").since_start, 3);
  EXPECT_EQ(change("slab").last, 1);
  EXPECT_EQ(change("free").still, 20);
  const std::shared_ptr<const PollEvidence> held = evidence_.current();
  poll(snapshots[1], {{"new", 5}, {"slab", 13}});
  EXPECT_EQ(change("slab").since_start, 3) << "in another place";
  EXPECT_EQ(change("slab").last, 0);
  EXPECT_EQ(change("new").since_start, 0);
  EXPECT_EQ(held->evidence.part("slab"), 13) << "a reader's evidence stays";
  EXPECT_EQ(held->evidence.polls, 3U);
}

}  // namespace
}  // namespace memstat
