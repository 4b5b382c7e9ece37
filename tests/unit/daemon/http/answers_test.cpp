// SPDX-License-Identifier: BSD-2-Clause
// For the watchdog: whether the server answers.
#include "daemon/http/server.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kPatience{60'000};

std::unique_ptr<HttpServer> start(HttpServerOptions options, HttpHandler handler) {
  options.listen = {{kLoopbackAddress, 0}};
  auto server = HttpServer::start(std::move(options), std::move(handler));
  return server ? *std::move(server) : nullptr;
}

TEST(HttpServerAnswers, OnlyWhatHasStatus200AndOnlyWhileItRuns) {
  const auto server = start({.allow = {{IpAddress::v4(0x0A000000), 8}}}, [](const HttpRequest& request) {
    return request.path == "/large" ? plain(200, std::string(20'000'000, 'x')) : plain(request.path == "/" ? 200 : 404, "");
  });
  ASSERT_NE(server, nullptr);
  EXPECT_TRUE(server->answers("/", kPatience));
  EXPECT_FALSE(server->answers("/nothing", kPatience));
  EXPECT_TRUE(server->answers("/large", kPatience)) << "it does not wait for the rest";
  server->stop();
  EXPECT_FALSE(server->answers("/", kPatience));
}

TEST(HttpServerAnswers, NotWhileEveryThreadHangs) {
  std::mutex hang;
  std::unique_lock hold(hang);
  const auto server = start({.threads = 2}, [&](const HttpRequest&) {
    const std::lock_guard lock(hang);
    return plain(200, "");
  });
  ASSERT_NE(server, nullptr);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(server->answers("/", milliseconds(10)));
  hold.unlock();
  EXPECT_TRUE(server->answers("/", kPatience));
}

}  // namespace
}  // namespace memstat
