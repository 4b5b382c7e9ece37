// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/leaks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <vector>

namespace memstat::ctl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TypeRow grower(const char* name, double bytes) {
  TypeRow row;
  row.allocator = "slab";
  row.allocator_number = ALLOCATOR_SLAB;
  row.name = name;
  row.figures = MEMSTAT_FIGURE_BYTES | MEMSTAT_FIGURE_COUNT;
  row.bytes = static_cast<std::uint64_t>(bytes);
  row.objects = row.bytes / 100;
  return row;
}

/// A finder of `polls` samples ten seconds apart, in which each type has the bytes that its function says.
LeakFinder finder_of(std::size_t polls, const std::map<const char*, std::function<double(double)>>& types,
                     const std::function<void(TypeRow&)>& change = {}) {
  LeakFinder finder;
  for (std::size_t poll = 0; poll < polls; ++poll) {
    Sample sample;
    for (const auto& [name, bytes] : types) sample.types.push_back(grower(name, bytes(static_cast<double>(poll))));
    if (change) change(sample.types.back());
    sample.memory = MachineMemory{.total = 1 << 30, .free = 1000, .unaccounted = 0, .available = 1'000'000};
    finder.add(sample, static_cast<double>(poll) * 10);
  }
  return finder;
}

std::vector<std::string> names_of(const std::vector<Suspect>& suspects) {
  std::vector<std::string> names;
  for (const Suspect& suspect : suspects) names.push_back(suspect.name);
  return names;
}

TEST(Leaks, AreRankedByWhatTheyGrowASecond) {
  const LeakFinder finder = finder_of(20, {{"slow", [](double i) { return 5000 + 10 * i; }},
                                           {"fast", [](double i) { return 100 + 1000 * i; }},
                                           {"wave", [](double i) { return 9000 + 5000 * std::sin(i); }},
                                           {"jump", [](double i) { return i < 9 ? 100.0 : 90000.0; }},
                                           {"flat", [](double) { return 700; }},
                                           {"less", [](double i) { return 90000 - i; }}});
  const auto suspects = finder.suspects();
  ASSERT_THAT(names_of(suspects), ElementsAre("fast", "slow"));
  EXPECT_DOUBLE_EQ(suspects[0].trend.per_second, 100);
  EXPECT_EQ(suspects[0].now, 19100U);
  EXPECT_DOUBLE_EQ(*suspects[0].memory_seconds, 10000) << "of what is available, not of what is free";
  EXPECT_FALSE(suspects[0].limit_seconds);
  const std::string text = leaks_table(finder).print({.layout = Layout::kText, .width = 0});
  EXPECT_THAT(text,
              HasSubstr("slab       fast  bytes   19K  +19K        +100        >99%  100%         -          2h 46m\n"))
      << text;
}

TEST(Leaks, TellTheTimeToTheLimitOfBytesAndOfObjects) {
  const std::map<const char*, std::function<double(double)>> types{{"a", [](double i) { return 1000 * i; }}};
  const auto bytes = finder_of(11, types, [](TypeRow& row) {
                       row.figures |= MEMSTAT_FIGURE_BYTESLIMIT;
                       row.limit_bytes = 20000;
                     }).suspects();
  ASSERT_EQ(bytes.size(), 1U);
  EXPECT_DOUBLE_EQ(bytes[0].limit_seconds.value_or(-1), 100) << "10 000 bytes left, 100 a second";
  const auto objects = finder_of(11, types, [](TypeRow& row) {
                         row.figures |= MEMSTAT_FIGURE_COUNTLIMIT;
                         row.limit_objects = 150;
                       }).suspects();
  EXPECT_DOUBLE_EQ(objects.at(0).limit_seconds.value_or(-1), 50) << "50 objects left, one a second";
}

TEST(Leaks, OfTypesWithoutBytesAreOfObjects) {
  const auto found = finder_of(10, {{"t", [](double i) { return 1000 * i; }}}, [](TypeRow& row) {
                       row.figures = MEMSTAT_FIGURE_COUNT;
                     }).suspects();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_FALSE(found[0].is_bytes);
  EXPECT_DOUBLE_EQ(found[0].trend.per_second, 1);
  EXPECT_FALSE(found[0].memory_seconds);
}

TEST(Leaks, AreNoContainersAndNothingThatCameWithinTheWindow) {
  const std::map<const char*, std::function<double(double)>> types{{"a", [](double i) { return 1000 * i; }}};
  for (const int allocator : {ALLOCATOR_MEMCG, ALLOCATOR_PAGE, ALLOCATOR_PROCESS}) {
    EXPECT_THAT(finder_of(10, types, [&](TypeRow& row) { row.allocator_number = allocator; }).suspects(), IsEmpty());
  }
  LeakFinder finder;
  for (int poll = 0; poll < 12; ++poll) {
    Sample sample;
    if (poll > 3) sample.types.push_back(grower("new", 100.0 * poll));
    finder.add(sample, poll);
  }
  EXPECT_THAT(finder.suspects(), IsEmpty());
}

TEST(Leaks, SayWhenTheWindowIsTooShort) {
  const std::map<const char*, std::function<double(double)>> types{{"a", [](double i) { return 1000 * i; }}};
  EXPECT_FALSE(finder_of(4, types).is_enough());
  EXPECT_TRUE(finder_of(5, types).is_enough());
  EXPECT_THAT(leaks_table(finder_of(4, types)).print({.layout = Layout::kJson}), HasSubstr("\"enough\": false"));
  EXPECT_THAT(leaks_table(finder_of(5, types)).print({.layout = Layout::kJson}), HasSubstr("\"per_second\": 100"));
}

TEST(Leaks, DurationsHaveTheirTwoLargestUnits) {
  EXPECT_EQ(duration_text(0), "0s");
  EXPECT_EQ(duration_text(59.9), "59s");
  EXPECT_EQ(duration_text(60), "1m");
  EXPECT_EQ(duration_text(3700), "1h 1m");
  EXPECT_EQ(duration_text(86400.0 * 3 + 7200), "3d 2h");
  EXPECT_EQ(duration_text(1e300), ">100y");
  EXPECT_EQ(duration_text(std::nan("")), ">100y");
}

}  // namespace
}  // namespace memstat::ctl
