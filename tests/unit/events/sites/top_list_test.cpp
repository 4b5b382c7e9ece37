// SPDX-License-Identifier: BSD-2-Clause
// A limited number of names with counters that only grow, however the ranking changes.
#include "core/events/sites/top_list.h"

#include "tests/support/test.h"

namespace memstat::events {
namespace {

struct Count {
  std::uint64_t events = 0;
  Count& operator+=(const Count& other) {
    events += other.events;
    return *this;
  }
  [[nodiscard]] double weight() const { return static_cast<double>(events); }
};

class CountsOfNames : public testing::Test {
 protected:
  using List = TopList<Count>;
  void count(const std::string& name, std::uint64_t events) {
    List::Entry& entry = list_.of(name);
    entry.users = 1;
    entry.pending += Count{events};
  }
  /// "name events ..., others events"
  std::string words(double kept = 1) {
    list_.settle(kept);
    std::string all;
    list_.for_each([&](std::string_view name, const Count& total) {
      all += std::string(name) + " " + std::to_string(total.events) + " ";
    });
    return all + "| " + std::to_string(list_.others().events);
  }
  List list_{2};
};

TEST_F(CountsOfNames, ListsThoseThatCountForMost) {
  count("a", 1);
  count("b", 30);
  count("c", 20);
  count("nothing", 0);
  EXPECT_EQ(words(), "b 30 c 20 | 1");
}

TEST_F(CountsOfNames, KeepAPlaceUntilAnotherHasTwiceTheScore) {
  count("a", 10);
  count("b", 30);
  EXPECT_EQ(words(), "a 10 b 30 | 0");
  count("c", 20);
  EXPECT_EQ(words(), "a 10 b 30 | 20") << "counts from before a name is listed belong to the others";
  count("c", 1);
  EXPECT_EQ(words(), "b 30 c 1 | 20") << "and stays there";
}

TEST_F(CountsOfNames, NeverShrinkWhenANameComesBack) {
  count("a", 10);
  count("b", 30);
  words();
  count("c", 21);
  EXPECT_EQ(words(), "b 30 c 21 | 0");
  count("a", 100);
  EXPECT_EQ(words(), "a 110 b 30 | 0");
}

TEST_F(CountsOfNames, GiveWayWithTimeToWhatGrowsNow) {
  count("a", 1000);
  count("b", 1000);
  words();
  count("c", 30);
  EXPECT_EQ(words(0.01), "a 1000 c 30 | 0");
}

TEST_F(CountsOfNames, ForgetsUnusedNamesUnlessListed) {
  count("a", 10);
  count("b", 30);
  count("c", 1);
  words();
  for (const char* name : {"a", "b", "c"}) list_.of(name).users = 0;
  words();
  EXPECT_EQ(list_.of("c").score, 0) << "a new one";
  EXPECT_EQ(list_.of("a").total.events, 10U);
}

}  // namespace
}  // namespace memstat::events
