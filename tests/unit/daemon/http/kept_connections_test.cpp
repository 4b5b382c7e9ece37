// SPDX-License-Identifier: BSD-2-Clause
// Connections that are kept open for the next request, and polled by the front while a worker has them.
#include "daemon/http/server.h"
#include "tests/support/fake_kernel_view.h"
#include "tests/support/http_client.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

// The front notices it while a worker has the connection.
TEST(KeptConnections, EventsAreNoticedWhileAWorkerAnswers) {
  std::atomic<bool> is_asked = false;
  std::atomic<bool> is_released = false;
  HttpServerOptions options{
      .threads = 1, .header_deadline = std::chrono::minutes(10), .keep_alive_idle = std::chrono::minutes(10)};
  options.listen = {{kLoopbackAddress, 0}};
  auto server = HttpServer::start(std::move(options), [&](const HttpRequest& request) {
    is_asked = request.path == "/wait";
    if (is_asked) eventually([&] { return is_released.load(); });
    HttpResponse response;
    response.text = "answered\n";
    return response;
  });
  ASSERT_TRUE(server);
  const std::string address = (*server)->addresses().at(0);
  const std::string kWait = "GET /wait HTTP/1.1\r\nHost: localhost\r\n";
  const std::string kNext = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
  for (const std::string what : {"next", "nothing", "end", "close", "reset"}) {
    std::optional<HttpClient> connection(address);
    ASSERT_TRUE(connection->request("GET", "/metrics"));
    is_asked = is_released = false;
    ASSERT_TRUE(connection->send(kWait + (what == "close" ? "Connection: close\r\n\r\n" : "\r\n")));
    ASSERT_TRUE(eventually([&] { return is_asked.load(); }));
    if (what == "next") connection->send(kNext);
    if (what == "end") connection->finish_sending();
    if (what == "reset") {
      connection->reset_on_close();
      connection.emplace(address);
    }
    is_released = true;
    const int answers = what == "reset" ? 0 : what == "next" ? 2 : 1;
    for (int i = 0; i < answers; ++i) EXPECT_TRUE(connection->read_answer()) << what;
    if (what == "end" || what == "close") {
      EXPECT_EQ(connection->read_to_end(), "") << what;
    } else {
      EXPECT_TRUE(connection->request("GET", "/metrics")) << what;
    }
  }
}

}  // namespace
}  // namespace memstat
