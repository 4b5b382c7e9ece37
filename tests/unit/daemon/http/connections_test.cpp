// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/http/connections.h"

#include <gtest/gtest.h>

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
