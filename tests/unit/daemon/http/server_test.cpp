// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/http/server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "config/values.h"
#include "daemon/http/sockets.h"
#include "tests/support/fake_kernel_view.h"
#include "tests/support/http_client.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

using namespace std::string_literals;
using std::chrono::milliseconds;
using SteadyTime = std::chrono::steady_clock;

constexpr milliseconds kFarDeadline{600'000};    // the server's: longer than any client waits
constexpr milliseconds kClientPatience{60'000};  // a client's, on a busy machine

// Bodies of 20 MB are far more than the kernel buffers for a connection, so a client that does not read stalls the server.
const std::string& large_body() {
  static const std::string body(20'000'000, 'x');
  return body;
}

HttpResponse answer(const HttpRequest& request) {
  HttpResponse response;
  response.content_type = "text/plain; charset=utf-8";
  if (request.path == "/large") {
    response.pieces = {large_body()};
    response.text = "end\n";
  } else if (request.path == "/pieces") {
    auto owner = std::make_shared<const std::string>("one two three ");
    response.pieces = {std::string_view(*owner).substr(0, 4), std::string_view(*owner).substr(4, 0),
                       std::string_view(*owner).substr(4)};
    response.owner = owner;
    response.text = "end\n";
  } else if (request.path == "/echo") {
    response.text = std::string(request.method) + "|" + std::string(request.query) + "|" + std::string(request.host) + "|" +
                    std::string(request.remote_address) + "|" + std::string(request.header("X-Test").value_or("none"));
  } else if (request.path == "/throw") {
    throw std::runtime_error("out of luck");
  } else if (request.path == "/throw-int") {
    throw 7;  // not a std::exception
  } else if (request.path != "/metrics" && request.path != "/a b") {
    response.status = 404;
    response.text = "no such page\n";
  } else if (request.method != "GET") {
    response.status = 405;
    response.headers = {{"Allow", "GET, HEAD"}, {"X-Forged", "a\r\nSet-Cookie: b"}};
    response.text = "read only\n";
  } else {
    response.text = "memstat_up 1\n";
  }
  return response;
}

class HttpServerTest : public testing::Test {
 protected:
  void start(HttpServerOptions options) {
    options.listen = {{kLoopbackAddress, 0}};
    options.log = [this](std::string_view line) {
      const std::lock_guard lock(log_mutex_);
      log_.append(line).append("\n");
    };
    auto server = HttpServer::start(std::move(options), answer);
    ASSERT_TRUE(server) << to_string(server.error());
    server_ = *std::move(server);
    address_ = server_->addresses().at(0);
  }
  void start() { start({.header_deadline = kFarDeadline}); }

  HttpClient client(milliseconds deadline = kClientPatience) { return HttpClient(address_, deadline); }
  std::string log() {
    const std::lock_guard lock(log_mutex_);
    return log_;
  }
  static void expect_answered(HttpClient& connection) {
    const auto got = connection.read_answer();
    EXPECT_TRUE(got && got->status == 200);
  }
  static void stop_before_any_deadline(const std::function<void()>& stop) {
    const auto begin = SteadyTime::now();
    stop();
    EXPECT_LT(SteadyTime::now() - begin, kFarDeadline / 2) << "it waited for a client";
  }
  bool scrape() {
    const auto got = client().request("GET", "/metrics");
    return got && got->status == 200 && got->body == "memstat_up 1\n";
  }

  std::mutex log_mutex_;
  std::string log_;
  std::unique_ptr<HttpServer> server_;
  std::string address_;
};

TEST_F(HttpServerTest, AnswersCarryTheStandardHeaders) {
  start();
  auto connection = client();
  const auto got = connection.request("GET", "/metrics");
  ASSERT_TRUE(got);
  EXPECT_EQ(got->status, 200);
  EXPECT_EQ(got->header("Content-Type"), "text/plain; charset=utf-8");
  EXPECT_EQ(got->header("Content-Length"), "13");
  EXPECT_EQ(got->header("Connection"), "keep-alive");
  EXPECT_EQ(got->header("X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(got->header("Cache-Control"), "no-store");
  EXPECT_TRUE(got->header("Date").value_or("").ends_with(" GMT"));
}

TEST_F(HttpServerTest, BodyIsThePiecesThenTheText) {
  start();
  auto connection = client();
  const auto small = connection.request("GET", "/pieces");
  ASSERT_TRUE(small);
  EXPECT_EQ(small->body, "one two three end\n");
  const auto large = connection.request("GET", "/large");
  ASSERT_TRUE(large);
  EXPECT_TRUE(large->body == large_body() + "end\n");
}

TEST_F(HttpServerTest, HandlerSeesTheRequest) {
  start();
  const auto got = client().request("GET", "/echo?type[]=a%20b&x", "x-test:  some value\r\n");
  ASSERT_TRUE(got);
  EXPECT_EQ(got->body, "GET|type[]=a%20b&x|localhost|127.0.0.1|some value");
}

TEST_F(HttpServerTest, StatusAndHeadersOfTheHandlerAreKept) {
  start();
  auto connection = client();
  const auto missing = connection.request("GET", "/nowhere");
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->status, 404);
  EXPECT_EQ(missing->body, "no such page\n");
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS"}) {
    const auto refused = connection.request(method, "/metrics");
    ASSERT_TRUE(refused) << method;
    EXPECT_EQ(refused->status, 405) << method;
    EXPECT_EQ(refused->header("Allow"), "GET, HEAD") << method;
    EXPECT_EQ(refused->header("Set-Cookie"), std::nullopt) << method;
  }
}

TEST_F(HttpServerTest, Http10ClosesUnlessAskedToStay) {
  start();
  auto closing = client();
  ASSERT_TRUE(closing.send("GET /metrics HTTP/1.0\r\n\r\n"));
  const auto text = closing.read_to_end();
  ASSERT_TRUE(text);
  EXPECT_TRUE(text->starts_with("HTTP/1.1 200 OK\r\n")) << *text;
  EXPECT_NE(text->find("Connection: close\r\n"), std::string::npos);
  EXPECT_TRUE(text->ends_with("\r\n\r\nmemstat_up 1\n"));

  auto staying = client();
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(staying.send("GET /metrics HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"));
    ASSERT_TRUE(staying.read_answer()) << i;
  }
}

TEST_F(HttpServerTest, IdleConnectionIsClosedInTime) {
  start({.keep_alive_idle = milliseconds(100)});
  auto connection = client();
  ASSERT_TRUE(connection.request("GET", "/metrics"));
  EXPECT_EQ(connection.read_to_end(), "");
}

TEST_F(HttpServerTest, RequestLeftByAnEarlierClientIsNotAnsweredToTheNext) {
  start({.threads = 1});
  {
    // The second request is not read when the first ends the connection.
    auto victim = client();
    ASSERT_TRUE(
        victim.send("GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\nGET /echo HTTP/1.1\r\n"
                    "Host: localhost\r\nX-Test: secret\r\n\r\n"));
    ASSERT_TRUE(victim.read_to_end());
  }
  for (std::size_t blanks = 4; blanks < 130; ++blanks) {
    auto thief = client();
    ASSERT_TRUE(thief.send("\r\n\r\n" + std::string(blanks - 4, ' ')));
    thief.finish_sending();
    const auto got = thief.read_to_end();
    ASSERT_TRUE(got);
    EXPECT_EQ(got->find("secret"), std::string::npos) << blanks << ": " << *got;
  }
}

TEST_F(HttpServerTest, AnExceptionOfTheHandlerIsStatus500AndALogLine) {
  start();
  auto connection = client();
  for (const char* path : {"/throw", "/throw-int"}) {
    const auto got = connection.request("GET", path);
    ASSERT_TRUE(got) << path;
    EXPECT_EQ(got->status, 500) << path;
    EXPECT_EQ(got->body.find("luck"), std::string::npos) << "the text is for the log, not for clients";
  }
  EXPECT_NE(log().find("/throw failed: out of luck"), std::string::npos) << log();
  EXPECT_TRUE(scrape());
}

TEST_F(HttpServerTest, HalfSentHeadersHoldNoThread) {
  start({.threads = 1, .header_deadline = kFarDeadline});
  std::vector<HttpClient> slow;
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(slow.emplace_back(client()).send("GET /metrics HTTP/1.1\r\nHost: loc"));
  EXPECT_TRUE(scrape());
  // Each is answered when its second half arrives.
  for (HttpClient& connection : slow) {
    ASSERT_TRUE(connection.send("alhost\r\n\r\n"));
    expect_answered(connection);
  }
}

TEST_F(HttpServerTest, ConnectionsOfOneAddressAreBoundedAndTheLongestWaitingGoes) {
  start({.connections_per_address = 8, .header_deadline = kFarDeadline});
  std::vector<HttpClient> stalled;
  for (int i = 0; i < 8; ++i) stalled.push_back(client());
  stalled.push_back(client());
  EXPECT_EQ(stalled.front().read_to_end(), "");
  EXPECT_TRUE(scrape());
  EXPECT_GE(server_->evictions(), 2U);
  ASSERT_TRUE(stalled.back().send("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  EXPECT_TRUE(stalled.back().read_answer());
}

TEST_F(HttpServerTest, IdleConnectionsHoldNoThread) {
  start({.threads = 1, .keep_alive_idle = kFarDeadline});
  std::vector<HttpClient> kept;
  for (int i = 0; i < 20; ++i) {
    const auto first = kept.emplace_back(client()).request("GET", "/metrics");
    ASSERT_TRUE(first);
    ASSERT_EQ(first->header("Connection"), "keep-alive");
  }
  EXPECT_TRUE(scrape());
  for (HttpClient& connection : kept) EXPECT_TRUE(connection.request("GET", "/metrics"));
  EXPECT_EQ(server_->evictions(), 0U);
}

TEST_F(HttpServerTest, CallsOfOtherObjectsAreTheSystems) {
  // The program's own listener next to the server's: only civetweb's bind, listen and accept are different.
  start();
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&address), length), 0);
  ASSERT_EQ(::listen(listener, 1), 0);
  ASSERT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length), 0);
  HttpClient own("127.0.0.1:" + std::to_string(ntohs(address.sin_port)));
  ASSERT_TRUE(own.connected());
  const int accepted = ::accept(listener, reinterpret_cast<sockaddr*>(&address), &length);
  EXPECT_GE(accepted, 0);
  EXPECT_EQ(address.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
  ::close(accepted);
  ::close(listener);
  EXPECT_TRUE(scrape());
}

TEST_F(HttpServerTest, ClientThatDoesNotReadIsDroppedAtTheDeadline) {
  start({.threads = 1, .write_deadline = milliseconds(300)});
  HttpClient deaf(address_, kClientPatience, 4096);
  ASSERT_TRUE(deaf.send("GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  ASSERT_TRUE(deaf.wait_for_end()) << "it is not dropped";
  const auto got = deaf.read_to_end();
  ASSERT_TRUE(got);
  EXPECT_LT(got->size(), large_body().size());
}

TEST_F(HttpServerTest, StopIsQuickWithClientsInEveryKindOfTrouble) {
  start({.header_deadline = kFarDeadline, .write_deadline = kFarDeadline, .keep_alive_idle = kFarDeadline});
  std::vector<HttpClient> idle;
  ASSERT_TRUE(idle.emplace_back(client()).request("GET", "/metrics"));
  std::vector<HttpClient> clients;
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(clients.emplace_back(client()).send("GET /metrics HTTP/1.1\r\nHost: loc"));
    ASSERT_TRUE(
        clients.emplace_back(address_, kClientPatience, 4096).send("GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    ASSERT_TRUE(clients.emplace_back(client()).connected());
  }
  stop_before_any_deadline([&] { server_->stop(); });
  for (HttpClient& connection : clients) EXPECT_TRUE(connection.read_to_end());
  EXPECT_FALSE(client().connected());
  server_->stop();
}

TEST(HttpServerOptions, WrongOnesAreNamed) {
  const auto error_of = [](HttpServerOptions options) {
    auto server = HttpServer::start(std::move(options), answer);
    return server ? std::string("no error") : to_string(server.error());
  };
  EXPECT_NE(error_of({.listen = {{*parse_ip("192.0.2.77"), 0}}}).find("no interface of this host has this address"),
            std::string::npos);
  EXPECT_NE(error_of({.listen = {}}).find("no address"), std::string::npos);
  EXPECT_NE(error_of({.listen = {{kLoopbackAddress, 0}}, .threads = 0}).find("at least one thread"), std::string::npos);
}

}  // namespace
}  // namespace memstat
