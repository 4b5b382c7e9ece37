// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/http/connections.h"

#include <gtest/gtest.h>

#include <vector>

namespace memstat {
namespace {

using State = ConnectionState;
using std::chrono::milliseconds;

constexpr std::uint32_t kScraper = 1;
constexpr std::uint32_t kAttacker = 2;

class HttpConnectionsTest : public testing::Test {
 protected:
  HttpConnection& add(std::uint32_t address, State state = State::kWaiting) {
    HttpConnection& made = table_.add(next_, {address, static_cast<std::uint16_t>(next_)}, 0, now_);
    ++next_;
    if (state != State::kWaiting) table_.change(made, state, now_);
    now_ += milliseconds(1);
    return made;
  }

  HttpConnections table_{16, 8, 8};
  TimePoint now_{std::chrono::seconds(100)};
  int next_ = 3;
};

TEST_F(HttpConnectionsTest, AddressWithItsShareLosesTheLongestWaitingFirst) {
  HttpConnection& ready = add(kAttacker, State::kReady);
  HttpConnection& first = add(kAttacker);
  for (int i = 0; i < 5; ++i) add(kAttacker);
  EXPECT_EQ(table_.too_many(kAttacker), nullptr);
  add(kAttacker);
  EXPECT_EQ(table_.too_many(kAttacker), &first) << "before the request, which is older";
  EXPECT_EQ(table_.too_many(kScraper), nullptr);
  while (HttpConnection* const waiting = table_.longest_waiting()) table_.remove(*waiting);
  for (int i = 0; i < 7; ++i) add(kAttacker, State::kReady);
  EXPECT_EQ(table_.too_many(kAttacker), &ready);
}

TEST_F(HttpConnectionsTest, FullTableLosesTheLongestWaitingOfAnyAddress) {
  HttpConnection& first = add(kAttacker);
  for (int i = 0; i < 15; ++i) add(kAttacker + 1 + static_cast<std::uint32_t>(i));
  EXPECT_TRUE(table_.full());
  EXPECT_EQ(table_.too_many(kScraper), &first);
  table_.remove(first);
  EXPECT_FALSE(table_.full());
  EXPECT_EQ(table_.too_many(kScraper), nullptr);
}

TEST_F(HttpConnectionsTest, ConnectionWithAThreadIsNeverOneTooMany) {
  for (int i = 0; i < 8; ++i) add(kAttacker, State::kAnswering);
  EXPECT_EQ(table_.too_many(kAttacker), nullptr);
  EXPECT_EQ(table_.longest_waiting(), nullptr);
}

TEST_F(HttpConnectionsTest, RequestOfTheAddressWithTheFewestThreadsIsNext) {
  EXPECT_EQ(table_.next_request(), nullptr);
  add(kAttacker, State::kStalled);
  HttpConnection& scraper = add(kScraper, State::kReady);
  add(kAttacker, State::kReady);
  EXPECT_EQ(table_.next_request(), &scraper);
  EXPECT_EQ(table_.ready(), 2U);
  EXPECT_EQ(table_.held_threads(), 1U);
}

TEST_F(HttpConnectionsTest, NewestRequestOfAnAddressIsNext) {
  add(kAttacker, State::kReady);
  add(kAttacker, State::kReady);
  HttpConnection& newest = add(kAttacker, State::kReady);
  EXPECT_EQ(table_.next_request(), &newest);
}

class NarrowClientsTest : public testing::Test {
 protected:
  HttpConnection& add(std::uint32_t address, bool narrow, State state) {
    HttpConnection& made = table_.add(next_++, {address, 1}, 0, now_);
    made.narrow = narrow;
    if (state != State::kWaiting) table_.change(made, state, now_);
    now_ += milliseconds(1);
    return made;
  }

  HttpConnections table_{16, 8, 8, 100};
  TimePoint now_{std::chrono::seconds(100)};
  int next_ = 3;
};

TEST_F(NarrowClientsTest, GoBeforeOthersWhenThereAreTooMany) {
  add(kAttacker, false, State::kWaiting);
  HttpConnection& wide = add(kAttacker, false, State::kReady);
  for (int i = 0; i < 5; ++i) add(kAttacker, false, State::kReady);
  HttpConnection& narrow = add(kAttacker, true, State::kReady);
  EXPECT_EQ(table_.too_many(kAttacker), &narrow);
  table_.remove(narrow);
  EXPECT_EQ(table_.too_many(kAttacker), nullptr);
  EXPECT_NE(table_.next_request(), &wide) << "the newest first, as always";
}

TEST_F(NarrowClientsTest, AreAnsweredAfterAllOthersByAQuarterOfTheThreads) {
  HttpConnection& wide = add(kScraper, false, State::kReady);
  std::vector<HttpConnection*> narrow;
  for (int i = 0; i < 3; ++i) narrow.push_back(&add(kAttacker, true, State::kReady));
  add(kScraper, false, State::kAnswering);
  EXPECT_EQ(table_.next_request(), &wide) << "although its address has a thread and the others have none";
  table_.remove(wide);
  for (int i = 2; i > 0; --i) {
    EXPECT_EQ(table_.next_request(), narrow[static_cast<std::size_t>(i)]);
    table_.change(*narrow[static_cast<std::size_t>(i)], State::kAnswering, now_);
  }
  EXPECT_EQ(table_.next_request(), nullptr) << "two of eight threads";
  EXPECT_EQ(table_.ready(), 1U);
}

TEST_F(NarrowClientsTest, WaitWhileTheirAddressLeavesItsShareUntaken) {
  HttpConnection& answer = add(kAttacker, true, State::kUntaken);
  table_.note_untaken(answer, 101, now_);
  HttpConnection& same = add(kAttacker, true, State::kReady);
  EXPECT_EQ(table_.next_request(), nullptr);
  HttpConnection& other = add(kScraper, true, State::kReady);
  EXPECT_EQ(table_.next_request(), &other) << "the share is an address's own";
  table_.remove(other);
  HttpConnection& wide = add(kAttacker, false, State::kReady);
  EXPECT_EQ(table_.next_request(), &wide);
  table_.remove(wide);
  table_.note_untaken(answer, 100, now_);
  EXPECT_EQ(table_.next_request(), &same);
}

TEST_F(HttpConnectionsTest, IdleConnectionsYieldFirst) {
  add(kAttacker, State::kAnswering);
  HttpConnection& stalled = add(kAttacker, State::kStalled);
  HttpConnection& kept = add(kScraper, State::kKept);
  now_ += HttpConnections::kReadGrace;
  EXPECT_EQ(table_.yield_thread(now_).connection, &kept);
  kept.shut_down = true;
  EXPECT_EQ(table_.yield_thread(now_).connection, &stalled);
  stalled.shut_down = true;
  EXPECT_EQ(table_.yield_thread(now_).connection, nullptr);
  EXPECT_EQ(table_.yield_thread(now_).next, TimePoint::max());
}

TEST_F(HttpConnectionsTest, IdleConnectionsOfTheGreediestAddressYieldFirst) {
  add(kScraper, State::kKept);
  HttpConnection& longest = add(kAttacker, State::kKept);
  add(kAttacker, State::kKept);
  EXPECT_EQ(table_.yield_thread(now_).connection, &longest);
}

TEST_F(HttpConnectionsTest, ClientThatDoesNotReadHasAGrace) {
  const HttpConnection& stalled = add(kAttacker, State::kStalled);
  EXPECT_EQ(table_.yield_thread(now_).connection, nullptr);
  EXPECT_EQ(table_.yield_thread(now_).next, stalled.since + HttpConnections::kReadGrace);
  EXPECT_EQ(table_.yield_thread(now_ + HttpConnections::kReadGrace).connection, &stalled);
}

TEST_F(HttpConnectionsTest, KeptConnectionsLeaveThreadsToRequests) {
  HttpConnection& first = add(kScraper, State::kAnswering);
  EXPECT_TRUE(table_.may_keep(first));
  for (int i = 0; i < 4; ++i) add(kScraper, State::kKept);
  EXPECT_FALSE(table_.may_keep(first)) << "more than half of the threads for one address";
  HttpConnection& other = add(kAttacker, State::kAnswering);
  EXPECT_TRUE(table_.may_keep(other));
  add(kAttacker, State::kAnswering);
  EXPECT_FALSE(table_.may_keep(other)) << "more than three quarters of the threads";
}

TEST_F(HttpConnectionsTest, EntriesAreUsedAgain) {
  for (int round = 0; round < 100; ++round) {
    HttpConnection& a = add(kScraper, State::kReady);
    HttpConnection& b = add(kAttacker, State::kKept);
    HttpConnection& c = add(kAttacker);
    table_.remove(a);
    table_.remove(c);
    table_.remove(b);
  }
  EXPECT_TRUE(table_.all().empty());
  EXPECT_EQ(table_.ready(), 0U);
  EXPECT_EQ(table_.held_threads(), 0U);
}

}  // namespace
}  // namespace memstat
