// SPDX-License-Identifier: BSD-2-Clause
// What the kernel holds of answers that clients do not take: bounded, and as long as it is, no client loses its page.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "daemon/http/connections.h"
#include "daemon/http/server.h"
#include "daemon/http/sockets.h"
#include "tests/support/fake_kernel_view.h"
#include "tests/support/http_client.h"
#include "tests/support/manual_clock.h"

namespace {

// While it is set the kernel refuses to take anything, as it does when the memory of all sockets is used up.
std::atomic<bool> kernel_refuses{false};
std::atomic<int> refused_calls{0};

}  // namespace

extern "C" ssize_t sendmsg(int descriptor, const msghdr* message, int flags) {
  if (kernel_refuses) {
    ++refused_calls;
    errno = EAGAIN;
    return -1;
  }
  return ::syscall(SYS_sendmsg, descriptor, message, flags);
}

namespace memstat {
namespace {

using State = ConnectionState;
using std::chrono::milliseconds;

constexpr std::uint32_t kSlowAddress = 2;
constexpr std::uint32_t kScrapingAddress = 1;
// Fits into the kernel's buffers of one connection.
constexpr std::size_t kPageBytes = 200'000;
constexpr int kSmallBuffer = 32768;
constexpr int kNarrowBuffer = 1;  // which the kernel makes its least

class UntakenAnswersInTheTable : public testing::Test {
 protected:
  HttpConnection& untaken(std::uint32_t address, std::size_t bytes) {
    HttpConnection& made = table_.add(next_++, {address, 1}, 0, now_);
    table_.change(made, State::kKept, now_);
    table_.change(made, State::kUntaken, now_);
    table_.note_untaken(made, bytes, now_);
    now_ += milliseconds(1);
    return made;
  }

  HttpConnections table_{16, 8, 8};
  TimePoint now_{std::chrono::seconds(100)};
  int next_ = 3;
};

TEST_F(UntakenAnswersInTheTable, HoldNoThreadAndAreCounted) {
  EXPECT_EQ(table_.longest_untaken(), nullptr);
  HttpConnection& first = untaken(kSlowAddress, 100);
  HttpConnection& second = untaken(kSlowAddress, 50);
  EXPECT_EQ(table_.held_threads(), 0U);
  EXPECT_EQ(table_.untaken_answers(), 2U);
  EXPECT_EQ(table_.untaken_bytes(), 150U);
  table_.note_untaken(second, 20, now_);
  EXPECT_EQ(table_.untaken_bytes(), 120U);
  table_.remove(first);
  EXPECT_EQ(table_.untaken_answers(), 1U);
  EXPECT_EQ(table_.untaken_bytes(), 20U);
  table_.remove(second);
  EXPECT_EQ(table_.untaken_bytes(), 0U);
  EXPECT_EQ(table_.longest_untaken(), nullptr);
}

TEST_F(UntakenAnswersInTheTable, OfTheGreediestAddressTheOneThatIsNotReadGoes) {
  untaken(kScrapingAddress, 100);
  HttpConnection& read = untaken(kSlowAddress, 90);
  HttpConnection& unread = untaken(kSlowAddress, 90);
  EXPECT_EQ(table_.longest_untaken(), &read);
  table_.note_untaken(read, 90, now_);
  EXPECT_EQ(table_.longest_untaken(), &read) << "nothing was taken of it";
  table_.note_untaken(read, 89, now_);
  EXPECT_EQ(table_.longest_untaken(), &unread);
}

TEST_F(UntakenAnswersInTheTable, GoAfterClientsThatAskNothingAndBeforeRequests) {
  HttpConnection& ready = table_.add(next_++, {kSlowAddress, 1}, 0, now_);
  table_.change(ready, State::kReady, now_);
  HttpConnection& answer = untaken(kSlowAddress, 100);
  for (int i = 0; i < 5; ++i) untaken(kSlowAddress, 100);
  HttpConnection& waiting = table_.add(next_++, {kSlowAddress, 1}, 0, now_);
  EXPECT_EQ(table_.too_many(kSlowAddress), &waiting);
  table_.remove(waiting);
  untaken(kSlowAddress, 100);
  EXPECT_EQ(table_.too_many(kSlowAddress), &answer);
  EXPECT_EQ(table_.longest_waiting(), nullptr);
}

class UntakenAnswers : public testing::Test {
 protected:
  void start(HttpServerOptions options) {
    options.listen = {{kLoopbackAddress, 0}};
    auto server = HttpServer::start(std::move(options), [this](const HttpRequest&) {
      HttpResponse response;
      response.content_type = "text/plain; charset=utf-8";
      response.pieces = {body_};
      return response;
    });
    ASSERT_TRUE(server) << to_string(server.error());
    server_ = *std::move(server);
    address_ = server_->addresses().at(0);
  }

  bool scrape() {
    const auto got = HttpClient(address_).request("GET", "/metrics", "Connection: close\r\n");
    return got && got->body == body_;
  }

  // A client that asks and does not read. Its connection is to be closed after the answer.
  HttpClient& ask_and_do_not_read(std::vector<HttpClient>& clients, std::string_view more = "Connection: close\r\n",
                                  int buffer = kSmallBuffer) {
    HttpClient& made = clients.emplace_back(address_, milliseconds(60'000), buffer);
    made.send("GET /metrics HTTP/1.1\r\nHost: localhost\r\n" + std::string(more) + "\r\n");
    return made;
  }

  // What the kernel holds for clients of this server; nothing where it does not tell.
  [[nodiscard]] std::optional<std::size_t> held_by_kernel() const {
    std::ifstream table("/proc/net/tcp");
    if (!table) return {};
    std::ostringstream port;
    port << std::hex << std::uppercase << std::stoi(address_.substr(address_.rfind(':') + 1));
    const std::string local = "0100007F:" + std::string(4 - std::min<std::size_t>(4, port.str().size()), '0') + port.str();
    std::size_t sum = 0;
    std::string line;
    while (std::getline(table, line)) {
      std::istringstream fields(line);
      std::string number, from, to, state, queues;
      fields >> number >> from >> to >> state >> queues;
      if (from == local && state != "0A") sum += std::stoul(queues.substr(0, 8), nullptr, 16);
    }
    return sum;
  }

  std::string body_ = std::string(kPageBytes, 'x');
  ManualClock clock_;  // outlives the server
  std::unique_ptr<HttpServer> server_;
  std::string address_;
};

TEST_F(UntakenAnswers, TheKernelHoldsAreBoundedWhileScrapesAreAnswered) {
  constexpr std::size_t kBound = 2'000'000;
  start({.threads = 4, .untaken_bytes = kBound});
  if (!held_by_kernel()) GTEST_SKIP() << "no /proc/net/tcp, which shows what the kernel holds";
  std::vector<HttpClient> slow;
  slow.reserve(60);
  for (int i = 0; i < 60; ++i) {
    ASSERT_TRUE(ask_and_do_not_read(slow).wait_for_bytes()) << i;
    EXPECT_TRUE(i % 10 != 0 || scrape()) << i;
  }
  // Beside the bound: what threads are sending.
  EXPECT_TRUE(eventually([&] { return *held_by_kernel() <= kBound + 4 * kPageBytes; })) << *held_by_kernel();
  EXPECT_GE(server_->evictions(), 40U);
  EXPECT_TRUE(scrape());
}

TEST_F(UntakenAnswers, NarrowClientsThatDoNotReadCostNoScrape) {
  constexpr std::size_t kBound = 2'000'000;
  start({.threads = 4, .connections = 40, .connections_per_address = 20, .untaken_bytes = kBound});
  std::vector<HttpClient> slow;
  slow.reserve(100);
  for (int i = 0; i < 100; ++i) {
    ask_and_do_not_read(slow, "Connection: close\r\n", kNarrowBuffer);
    EXPECT_TRUE(i % 10 != 0 || scrape()) << i;
  }
  if (held_by_kernel()) {
    EXPECT_LE(*held_by_kernel(), kBound / 2 + 5 * kPageBytes) << "their requests wait";
  }
  EXPECT_TRUE(scrape());
}

TEST_F(UntakenAnswers, ClientThatReadsLateHasItsWholePage) {
  start({.threads = 4});
  std::vector<HttpClient> slow;
  slow.reserve(20);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(ask_and_do_not_read(slow).wait_for_bytes()) << i;
  EXPECT_TRUE(scrape());
  for (HttpClient& connection : slow) {
    const auto got = connection.read_answer();
    ASSERT_TRUE(got);
    EXPECT_TRUE(got->body == body_);
    EXPECT_EQ(connection.read_to_end(), "");
  }
  EXPECT_EQ(server_->evictions(), 0U);
}

TEST_F(UntakenAnswers, ConnectionThatYieldsItsThreadKeepsItsPage) {
  start({.threads = 2});
  std::vector<HttpClient> slow;
  slow.reserve(2);
  // They are kept, and hold both threads or go at once.
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(ask_and_do_not_read(slow, "").wait_for_bytes()) << i;
  EXPECT_TRUE(scrape());
  for (HttpClient& connection : slow) {
    const auto got = connection.read_answer();
    ASSERT_TRUE(got);
    EXPECT_TRUE(got->body == body_);
  }
}

TEST_F(UntakenAnswers, ClientsThatResetTheirConnectionsAreForgotten) {
  start({.threads = 2, .connections = 40, .connections_per_address = 40, .untaken_bytes = 1'000'000});
  for (int i = 0; i < 100; ++i) {
    std::vector<HttpClient> gone;
    gone.reserve(1);
    HttpClient& made = ask_and_do_not_read(gone);
    ASSERT_TRUE(made.wait_for_bytes()) << i;
    made.reset_on_close();
    gone.clear();
    // A busy kernel resets them later; nothing is known here where it does not tell.
    ASSERT_TRUE(eventually([&] { return held_by_kernel().value_or(0) == 0; })) << i;
  }
  EXPECT_EQ(server_->evictions(), 0U) << "they are gone, so none had to go";
}

TEST(HttpServerDefaults, AnIdleConnectionIsKeptForTwoMinutesAndLonger) {
  // That it is closed at this time, and goes first when threads are short, is in server_test.cpp.
  EXPECT_GE(HttpServerOptions().keep_alive_idle, std::chrono::minutes(2));
}

TEST_F(UntakenAnswers, AClientThatTakesItsAnswersIsKeptForTwoMinutesWhileThreadsAreFree) {
  start({.threads = 4, .clock = clock_});
  HttpClient kept(address_);
  ASSERT_TRUE(kept.request("GET", "/metrics"));
  HttpClient waiting(address_);
  waiting.send("GET /metrics HTTP/1.1\r\n");
  EXPECT_TRUE(scrape()) << "accepted after the other";
  clock_.advance(std::chrono::minutes(2));
  EXPECT_TRUE(scrape());
  const auto refused = waiting.read_to_end();
  ASSERT_TRUE(refused);
  EXPECT_TRUE(refused->starts_with("HTTP/1.1 408")) << "the server has not seen that two minutes have passed";
  const auto again = kept.request("GET", "/metrics");
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->body == body_);
  EXPECT_EQ(server_->evictions(), 0U);
}

TEST_F(UntakenAnswers, RefusalsWhereTheSocketCanBeWrittenDoNotSpin) {
  start({.threads = 2, .write_deadline = milliseconds(3000)});
  std::vector<HttpClient> clients;
  refused_calls = 0;
  kernel_refuses = true;
  const auto got = ask_and_do_not_read(clients).read_to_end();
  kernel_refuses = false;
  EXPECT_EQ(got, "");
  EXPECT_LE(refused_calls, 150) << "in 3 s, and in fewer calls where the machine is busy";
  EXPECT_GE(refused_calls, 5) << "the memory of sockets may come back";
  EXPECT_TRUE(scrape());
}

}  // namespace
}  // namespace memstat
