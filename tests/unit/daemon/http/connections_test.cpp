// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/http/connections.h"

#include "tests/support/test.h"

namespace memstat {
namespace {

using State = ConnectionState;
using std::chrono::milliseconds;

const IpAddress kScraper = IpAddress::v4(1);
const IpAddress kAttacker = IpAddress::v4(2);

class HttpConnectionsTest : public testing::Test {
 protected:
  HttpConnection& add(const IpAddress& address, State state = State::kReading, std::size_t unsent = 0) {
    HttpConnection& made = table_.add(next_, {address, static_cast<std::uint16_t>(next_)}, 0, now_);
    ++next_;
    if (state != State::kReading) table_.change(made, state, now_);
    table_.note_unsent(made, unsent);
    now_ += milliseconds(1);
    return made;
  }

  HttpConnections table_{16, 8};
  TimePoint now_{std::chrono::seconds(100)};
  int next_ = 3;
};

TEST_F(HttpConnectionsTest, AddressWithItsShareLosesTheOldestOfTheStateThatMostAreIn) {
  add(kScraper, State::kIdle);
  add(kAttacker, State::kIdle);
  HttpConnection& first = add(kAttacker);
  HttpConnection& second = add(kAttacker);
  for (int i = 0; i < 3; ++i) add(kAttacker, State::kReady);
  HttpConnection& last = add(kAttacker);
  EXPECT_EQ(table_.too_many(kAttacker), nullptr);
  add(kAttacker);
  EXPECT_EQ(table_.too_many(kAttacker), &first);
  EXPECT_EQ(table_.too_many(kScraper), nullptr);
  table_.change(first, State::kWriting, now_);
  table_.change(last, State::kWriting, now_);
  EXPECT_EQ(table_.too_many(kAttacker)->state, State::kReady);
  table_.change(second, State::kWriting, now_);
  table_.change(last, State::kReading, now_);
  EXPECT_EQ(table_.too_many(kAttacker)->state, State::kReady);
}

TEST_F(HttpConnectionsTest, FullTableLosesTheOldestOfAnyAddress) {
  HttpConnection& first = add(kAttacker);
  for (int i = 0; i < 15; ++i)
    add(IpAddress::v4(10U + static_cast<std::uint32_t>(i)), i < 5 ? State::kIdle : State::kReading);
  EXPECT_TRUE(table_.full());
  EXPECT_EQ(table_.too_many(kScraper), &first);
  table_.remove(first);
  EXPECT_FALSE(table_.full());
  EXPECT_EQ(table_.too_many(kScraper), nullptr);
}

TEST_F(HttpConnectionsTest, AHostOfIpv6HasOneShareForItsNetwork) {
  HttpConnection& first = add(*parse_ip("2001:db8::1"));
  for (int i = 0; i < 7; ++i) add(*parse_ip("2001:db8::" + std::to_string(i + 2)));
  EXPECT_EQ(table_.too_many(client_of(*parse_ip("2001:db8::ffff:1"))), &first);
  EXPECT_EQ(table_.too_many(client_of(*parse_ip("2001:db8:0:1::1"))), nullptr);
  EXPECT_EQ(client_of(*parse_ip("::1")), *parse_ip("::1"));
  EXPECT_EQ(client_of(*parse_ip("192.0.2.1")), *parse_ip("192.0.2.1"));
}

TEST_F(HttpConnectionsTest, ConnectionThatAWorkerHasIsNeverEvicted) {
  for (int i = 0; i < 8; ++i) add(kAttacker, State::kAnswering);
  EXPECT_EQ(table_.too_many(kAttacker), nullptr);
  for (int i = 0; i < 8; ++i) add(kScraper, State::kAnswering);
  EXPECT_EQ(table_.too_many(kAttacker), nullptr);
  EXPECT_TRUE(table_.full());
}

TEST_F(HttpConnectionsTest, RequestOfTheAddressWithTheFewestWorkersIsNext) {
  EXPECT_EQ(table_.next_request(), nullptr);
  HttpConnection& answering = add(kAttacker, State::kAnswering);
  HttpConnection& scraper = add(kScraper, State::kReady);
  HttpConnection& attacker = add(kAttacker, State::kReady);
  EXPECT_EQ(table_.next_request(), &scraper);
  table_.change(answering, State::kIdle, now_);
  EXPECT_EQ(table_.next_request(), &attacker) << "the newer one";
}

TEST_F(HttpConnectionsTest, NewestRequestOfAnAddressIsNext) {
  add(kAttacker, State::kReady);
  add(kAttacker, State::kReady);
  HttpConnection& newest = add(kAttacker, State::kReady);
  EXPECT_EQ(table_.next_request(), &newest);
}

TEST_F(HttpConnectionsTest, OldestResponseOfTheAddressWithTheMostUnsentBytesIsTheLargest) {
  EXPECT_EQ(table_.largest_unsent(), nullptr);
  add(kScraper, State::kWriting, 100);
  HttpConnection& first = add(kAttacker, State::kWriting, 60);
  HttpConnection& second = add(kAttacker, State::kWriting, 60);
  EXPECT_EQ(table_.unsent_bytes(), 220U);
  EXPECT_EQ(table_.largest_unsent(), &first);
  table_.remove(first);
  EXPECT_EQ(table_.unsent_bytes(), 160U);
  EXPECT_NE(table_.largest_unsent(), &second);
  table_.note_unsent(second, 20);
  EXPECT_EQ(table_.unsent_bytes(), 120U);
}

TEST_F(HttpConnectionsTest, EntriesAreUsedAgainAndCarryNothingOver) {
  for (int round = 0; round < 100; ++round) {
    HttpConnection& a = add(kScraper, State::kReady);
    HttpConnection& b = add(kAttacker, State::kWriting, 100);
    HttpConnection& c = add(kAttacker);
    a.input.assign(static_cast<std::size_t>(round) * 100, 'x');
    a.closes = a.drains = a.ended = a.is_own = true;
    b.response.text = "secret";
    b.outgoing.add(b.response.text);
    for (HttpConnection* const entry : {&a, &c, &b}) table_.remove(*entry);
    const HttpConnection& again = add(kScraper);
    EXPECT_TRUE(again.input.empty());
    EXPECT_TRUE(again.response.text.empty());
    EXPECT_EQ(again.outgoing.left(), 0U);
    EXPECT_FALSE(again.closes || again.drains || again.ended || again.is_own);
    table_.remove(*table_.all().front());
  }
  EXPECT_TRUE(table_.all().empty());
  EXPECT_EQ(table_.next_request(), nullptr);
  EXPECT_EQ(table_.unsent_bytes(), 0U);
}

}  // namespace
}  // namespace memstat
