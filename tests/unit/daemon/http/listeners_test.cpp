// SPDX-License-Identifier: BSD-2-Clause
// The server's addresses, and its clients while this process cannot open more files.
#include "daemon/http/listeners.h"

#include <sys/resource.h>
#include <unistd.h>

#include "config/values.h"
#include "daemon/http/server.h"
#include "daemon/http/sockets.h"
#include "tests/support/fixtures.h"
#include "tests/support/http_client.h"
#include "tests/support/result_checks.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

/// While this object exists, the process can open at most `count` more files.
class FewMoreFiles {
 public:
  explicit FewMoreFiles(rlim_t count) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const int next = ::dup(STDERR_FILENO);
    ::close(next);
    const rlimit few{.rlim_cur = static_cast<rlim_t>(next) + count, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &few);
  }
  ~FewMoreFiles() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  FewMoreFiles(const FewMoreFiles&) = delete;
  FewMoreFiles& operator=(const FewMoreFiles&) = delete;

 private:
  rlimit before_{};
};

TEST(SpareFiles, AreGivenAndFilledAgain) {
  SpareFiles spare;
  EXPECT_FALSE(spare.give());
  spare.fill();
  EXPECT_TRUE(spare.full());
  const std::size_t all = spare.count();
  EXPECT_TRUE(spare.give());
  EXPECT_EQ(spare.count(), all - 1);
  EXPECT_TRUE(spare.give(2 * all));
  EXPECT_EQ(spare.count(), 0U);
  EXPECT_FALSE(spare.give());
  spare.fill();
  SpareFiles other;
  other = std::move(spare);
  EXPECT_TRUE(other.full());
  const FewMoreFiles none(0);
  SpareFiles empty;
  empty.fill();
  EXPECT_FALSE(empty.give());
}

TEST(SpareFiles, AreASmallPartOfTheFilesOfAProcess) {
  const FewMoreFiles few(200);
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  SpareFiles spare;
  spare.fill();
  EXPECT_TRUE(spare.full());
  EXPECT_LE(spare.count() * 16, files.rlim_cur);
  EXPECT_GE(spare.count(), 2U);
}

TEST(HttpListeners, WithoutFilesLeftTheLongestWaitingGoesForTheNewest) {
  auto listeners = HttpListeners::open({{kLoopbackAddress, 0}});
  ASSERT_TRUE(listeners) << to_string(listeners.error());
  const std::string address = format_endpoint(listeners->endpoints()[0]);
  constexpr rlim_t kFiles = 24;  // the server's own and some clients
  std::vector<HttpClient> waiting;
  for (std::size_t i = 0; i < kFiles + SpareFiles::kMaxCount + 4; ++i) {
    ASSERT_TRUE(waiting.emplace_back(address).send("GET /metrics HTTP/1.1\r\nHost: loc"));
  }
  HttpClient newest(address);
  ASSERT_TRUE(newest.send("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  const FewMoreFiles few(kFiles);
  HttpServerOptions options;
  options.threads = 2;
  options.header_deadline = std::chrono::minutes(10);
  auto server = HttpServer::start(std::move(options), *std::move(listeners), [](const HttpRequest&) {
    HttpResponse response;
    response.text = "memstat_up 1\n";
    return response;
  });
  ASSERT_TRUE(server) << to_string(server.error());
  const auto got = newest.read_answer();
  ASSERT_TRUE(got);
  EXPECT_EQ(got->status, 200);
  EXPECT_EQ(waiting.front().read_to_end(), "") << "the longest waiting is closed";
}

TEST(HttpListeners, ServeIpv6AndUnixSockets) {
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/http.sock";
  std::vector<Endpoint> endpoints{{.address = {}, .port = 0, .path = path}};
  if (HttpListeners::open({{*parse_ip("::1"), 0}})) endpoints.push_back({*parse_ip("::1"), 0});
  auto listeners = HttpListeners::open(endpoints);
  ASSERT_TRUE(listeners) << to_string(listeners.error());
  HttpServerOptions options;
  options.allow = {{IpAddress::v4(0x0A000000), 8}};
  auto server = HttpServer::start(std::move(options), *std::move(listeners), [](const HttpRequest& request) {
    return plain(200, std::string(request.remote_address));
  });
  ASSERT_TRUE(server) << to_string(server.error());
  const std::vector<std::string> addresses = (*server)->addresses();
  EXPECT_EQ(addresses[0], "unix:" + path);
  for (const std::string& address : addresses) {
    const auto got = HttpClient(address).request("GET", "/");
    ASSERT_TRUE(got) << address;
    EXPECT_EQ(got->body, address.starts_with("unix:") ? "unix" : "::1");
  }
  EXPECT_TRUE(fails(HttpListeners::open({{.address = {}, .port = 0, .path = path}}), {.system_errno = EADDRINUSE}));
  server->reset();
  EXPECT_NE(::access(path.c_str(), F_OK), 0) << "the file is removed";
}

}  // namespace
}  // namespace memstat
