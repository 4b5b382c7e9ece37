// SPDX-License-Identifier: BSD-2-Clause
// memstatd's poller, pages and HTTP server with one difference: every scrape of /metrics first makes its own poll, including
// the hand-over to the reader thread. scrape_bench.py starts it and measures what such a scrape costs.
// Usage: polling_server_bench PORT. Needs root. Ends with SIGTERM.
#include <array>
#include <csignal>
#include <cstdio>
#include <string>

#include "daemon/http/server.h"
#include "daemon/poll/poller.h"
#include "daemon/serve/endpoints.h"

int main(int argc, char** argv) {
  using namespace memstat;
  if (argc != 2) {
    std::fprintf(stderr, "usage: polling_server_bench PORT\n");
    return 2;
  }
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigprocmask(SIG_BLOCK, &signals, nullptr);

  auto view = make_live_kernel_view();
  if (!view) return 1;
  const SystemClock clock;
  SelfMetrics metrics("bench");
  SnapshotPool pool;
  const std::array slab_caches = {find_source("linux_slabinfo")};  // the reference only reads them
  Poller poller(*std::move(view), clock, metrics, pool, Config{}, {.log = {}, .sources = slab_caches});
  poller.open_sources();
  Pages pages(pool, metrics, poller, clock, {});
  std::mutex one_poll_at_a_time;
  HttpServerOptions options;
  options.listen = {{kLoopbackAddress, static_cast<std::uint16_t>(std::stoi(argv[1]))}};
  auto server = HttpServer::start(options, [&](const HttpRequest& request) {
    {
      const std::lock_guard lock(one_poll_at_a_time);
      poller.poll(clock.monotonic_ns());
    }
    return pages.respond(request);
  });
  if (!server) {
    std::fprintf(stderr, "%s\n", to_string(server.error()).c_str());
    return 1;
  }
  int signal = 0;
  sigwait(&signals, &signal);
  (*server)->stop();
  return 0;
}
