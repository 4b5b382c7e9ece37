// SPDX-License-Identifier: BSD-2-Clause
// Clients that read their responses late or never: kernel and server use bounded memory for them, and within the limit no
// client loses its page.
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/http/server.h"
#include "daemon/http/sockets.h"
#include "tests/support/fake_kernel_view.h"
#include "tests/support/http_client.h"
#include "tests/support/manual_clock.h"
#include "tests/support/test.h"

namespace {

// While it is set, the kernel accepts nothing from TCP sockets, as when the memory of all of them is used
// up.
std::atomic<bool> kernel_refuses{false};
std::atomic<int> refused_calls{0};

}  // namespace

extern "C" ssize_t sendmsg(int descriptor, const msghdr* message, int flags) {
  sockaddr_in own{};
  socklen_t length = sizeof own;
  ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&own), &length);
  if (kernel_refuses && own.sin_family == AF_INET) {
    ++refused_calls;
    errno = EAGAIN;
    return -1;
  }
  return ::syscall(SYS_sendmsg, descriptor, message, flags);
}

namespace memstat {
namespace {

using std::chrono::milliseconds;

// Fits into the kernel's buffers of one connection.
constexpr std::size_t kPageBytes = 200'000;
constexpr int kSmallBuffer = 32768;
constexpr int kNarrowBuffer = 1;  // which the kernel raises to its minimum

class SlowClients : public testing::Test {
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

  // A client that sends a request and does not read. Its connection is closed after the answer.
  HttpClient& ask_and_do_not_read(std::vector<HttpClient>& clients, std::string_view more = "Connection: close\r\n",
                                  int buffer = kSmallBuffer) {
    HttpClient& made = clients.emplace_back(address_, milliseconds(60'000), buffer);
    made.send("GET /metrics HTTP/1.1\r\nHost: localhost\r\n" + std::string(more) + "\r\n");
    return made;
  }

  // The memory that the kernel uses for clients of this server; nothing if it does not report it.
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

TEST_F(SlowClients, WhatTheKernelHoldsIsBoundedWhileScrapesAreAnswered) {
  constexpr std::size_t kFullBuffers = 4;
  constexpr std::size_t kClients = 60;
  start({.threads = 4, .full_buffers = kFullBuffers});
  if (!held_by_kernel()) GTEST_SKIP() << "no /proc/net/tcp, which shows what the kernel holds";
  std::vector<HttpClient> slow;
  slow.reserve(kClients);
  for (std::size_t i = 0; i < kClients; ++i) {
    ASSERT_TRUE(ask_and_do_not_read(slow).wait_for_bytes()) << i;
    EXPECT_TRUE(i % 10 != 0 || scrape()) << i;
  }
  EXPECT_LE(*held_by_kernel(), (kFullBuffers + 1) * kPageBytes + kClients * std::size_t{65536});
  EXPECT_EQ(server_->evictions(), 0U);
  EXPECT_TRUE(scrape());
}

TEST_F(SlowClients, WhatTheServerHoldsIsBoundedWhileScrapesAreAnswered) {
  constexpr std::size_t kBound = 10 * kPageBytes;
  start({.threads = 4, .full_buffers = 0, .unsent_bytes = kBound});
  std::vector<HttpClient> slow;
  slow.reserve(60);
  for (int i = 0; i < 60; ++i) {
    ASSERT_TRUE(ask_and_do_not_read(slow, i % 2 == 0 ? "Connection: close\r\n" : "", kNarrowBuffer).wait_for_bytes()) << i;
    EXPECT_TRUE(i % 10 != 0 || scrape()) << i;
  }
  EXPECT_GE(server_->evictions(), 40U);
  EXPECT_TRUE(slow.front().wait_for_end()) << "the oldest";
  EXPECT_TRUE(scrape());
}

TEST_F(SlowClients, ClientThatEndsItsHalfAndReadsLateHasItsWholePage) {
  start({.threads = 1, .full_buffers = 0});
  for (const char* more : {"Connection: close\r\n", ""}) {
    std::vector<HttpClient> slow;
    slow.reserve(1);
    HttpClient& made = ask_and_do_not_read(slow, more);
    made.finish_sending();
    ASSERT_TRUE(made.wait_for_bytes());
    EXPECT_TRUE(scrape());
    const auto got = made.read_answer();
    ASSERT_TRUE(got);
    EXPECT_TRUE(got->body == body_);
    EXPECT_EQ(made.read_to_end(), "");
  }
}

TEST_F(SlowClients, ResponseThatOnlyTheKernelHoldsHasTheDeadlineToo) {
  start({.threads = 1, .clock = clock_});
  std::vector<HttpClient> slow;
  slow.reserve(2);
  for (const char* more : {"Connection: close\r\n", ""}) ASSERT_TRUE(ask_and_do_not_read(slow, more).wait_for_bytes());
  EXPECT_TRUE(scrape()) << "by the only thread, which has sent the other responses before";
  clock_.advance(std::chrono::minutes(1));
  EXPECT_TRUE(scrape());
  for (const HttpClient& connection : slow) EXPECT_TRUE(connection.wait_for_end());
}

TEST_F(SlowClients, AClientThatTakesItsAnswersIsKeptForTwoMinutes) {
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
  EXPECT_TRUE(refused->starts_with("HTTP/1.1 408")) << "the server has not noticed that two minutes have passed";
  const auto again = kept.request("GET", "/metrics");
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->body == body_);
  EXPECT_EQ(server_->evictions(), 0U);
}

TEST_F(SlowClients, RefusalsWhereTheSocketCanBeWrittenDoNotSpin) {
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
