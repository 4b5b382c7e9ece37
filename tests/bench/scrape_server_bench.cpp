// SPDX-License-Identifier: BSD-2-Clause
// Scrapes over one kept loopback connection, by a client that takes pieces as large as they come: memstatd's /metrics
// against the same server sending the same bytes from a static buffer, in the same pieces, and against prometheus-cpp's
// Exposer with the same series. Figures: ours / fixed at most 1.15 in time, identity and gzip, 1200 and 100 000 series
// (counter both_us: CPU of client and server; run it on one processor, where that is the time that a scrape takes when
// nothing else runs); a scrape on a connection of its own at most 1.3 times what the same civetweb with a bare handler that
// sends the same bytes costs (counter server_us); Exposer / ours at least 50 in CPU (counter server_us: of all threads but
// the client's).
#include <arpa/inet.h>
#include <benchmark/benchmark.h>
#include <civetweb.h>
#include <netinet/in.h>
#include <prometheus/exposer.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bit>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/kernel/kernel_view.h"
#include "daemon/exposition/exposition.h"
#include "daemon/http/server.h"
#include "daemon/poll/poller.h"
#include "daemon/serve/endpoints.h"
#include "daemon/serve/gzip.h"
#include "tests/bench/many_types.h"

namespace memstat {
namespace {

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "scrape_server_bench: %s\n", what);
  std::exit(1);
}

/// One kept connection.
class Client {
 public:
  /// `fresh`: a new connection for each scrape, as Prometheus does if the server closes the previous one.
  Client(std::string_view address, bool gzip, bool fresh = false) : fresh_(fresh), address_(address), buffer_(256 << 10) {
    request_ = "GET /metrics HTTP/1.1\r\nHost: " + address_ +
               "\r\nAccept: text/plain;version=0.0.4\r\nAccept-Encoding: " + (gzip ? "gzip" : "identity") +
               (fresh ? "\r\nConnection: close" : "") + "\r\n\r\n";
  }
  ~Client() { hang_up(); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// Bytes of the body. Servers soon close an idle connection; then a new one is made.
  std::size_t scrape() {
    const std::size_t first = try_once();
    if (first == 0 || fresh_) hang_up();
    if (first != 0) return first;
    const std::size_t body = try_once();
    if (body == 0) fail("no answer");
    return body;
  }

 private:
  std::size_t try_once() {
    if (socket_ < 0) dial();
    if (::send(socket_, request_.data(), request_.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request_.size())) return 0;
    std::size_t got = 0;
    std::size_t head = std::string_view::npos;
    while (head == std::string_view::npos) {
      const ssize_t more = ::recv(socket_, buffer_.data() + got, buffer_.size() - got, 0);
      if (more <= 0) return 0;
      got += static_cast<std::size_t>(more);
      head = std::string_view(buffer_.data(), got).find("\r\n\r\n");
    }
    const std::string_view headers(buffer_.data(), head);
    if (!headers.starts_with("HTTP/1.1 200")) fail("a status other than 200");
    static constexpr std::string_view kLength = "Content-Length: ";
    const std::size_t at = headers.find(kLength);
    if (at == std::string_view::npos) fail("no Content-Length");
    std::size_t length = 0;
    std::from_chars(headers.data() + at + kLength.size(), headers.data() + headers.size(), length);
    for (got -= head + 4; got < length;) {
      const ssize_t more = ::recv(socket_, buffer_.data(), buffer_.size(), 0);
      if (more <= 0) fail("the answer ends early");
      got += static_cast<std::size_t>(more);
    }
    return length;
  }
  void dial() {
    const std::size_t colon = address_.rfind(':');
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address_.substr(colon + 1))));
    ::inet_pton(AF_INET, address_.substr(0, colon).c_str(), &to.sin_addr);
    socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) fail("cannot connect");
  }
  void hang_up() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }

  bool fresh_;
  std::string address_;
  std::string request_;
  std::vector<char> buffer_;
  int socket_ = -1;
};

std::unique_ptr<HttpServer> serve(HttpHandler handler) {
  HttpServerOptions options;
  options.listen = {{kLoopbackAddress, 0}};
  options.threads = 4;
  auto server = HttpServer::start(options, std::move(handler));
  if (!server) fail(to_string(server.error()).c_str());
  return *std::move(server);
}

void copy_whole(const HttpResponse& response, Buffer& bytes) {
  for (const std::string_view piece : response.pieces) bytes.append(piece);
  bytes.append(response.text);
}

/// memstatd's own parts with its server, and two servers that send its answers from a buffer.
struct Servers {
  std::size_t types;
  SystemClock clock;
  SelfMetrics metrics{"bench"};
  SnapshotPool pool;
  ManyTypes data{types};
  std::unique_ptr<Poller> poller;
  std::unique_ptr<Pages> pages;
  std::unique_ptr<HttpServer> ours;
  std::array<Buffer, 2> bytes;  // identity, gzip
  std::array<std::unique_ptr<HttpServer>, 2> fixed;

  explicit Servers(std::size_t type_count) : types(type_count) {
    auto view = make_live_kernel_view();
    if (!view) fail("no kernel");
    poller = std::make_unique<Poller>(*std::move(view), clock, metrics, pool, Config{}, Poller::Options{});
    pages = std::make_unique<Pages>(pool, metrics, *poller, clock, Pages::Options{});
    RenderedSnapshot* snapshot = pool.free_snapshot();
    data.build(*snapshot);
    prepare_pages({.tier = Tier::kFull}, *snapshot);
    snapshot->polled_ns = clock.monotonic_ns();
    metrics.source_succeeded("linux_slabinfo", {.read_seconds = 0.001, .read_bytes = 1, .types = types});
    metrics.poll_finished(1, 0.001, snapshot->series);
    pool.publish(snapshot);
    ours = serve([this](const HttpRequest& request) { return pages->respond(request); });
    for (const bool gzip : {false, true}) {
      const std::array headers{HttpHeader{"Accept", "text/plain;version=0.0.4"},
                               HttpHeader{"Accept-Encoding", gzip ? "gzip" : "identity"}};
      HttpResponse like = pages->respond(
          {.method = "GET", .path = "/metrics", .query = {}, .host = {}, .remote_address = {}, .headers = headers});
      copy_whole(like, bytes[gzip]);
      std::size_t at = 0;
      for (std::string_view& piece : like.pieces) {  // cut like ours: the boundaries of writes matter to the kernel
        piece = bytes[gzip].view().substr(at, piece.size());
        at += piece.size();
      }
      like.owner.reset();
      fixed[gzip] = serve([like](const HttpRequest&) { return like; });
    }
  }
};

Servers& servers(std::int64_t series) {
  static std::map<std::int64_t, std::unique_ptr<Servers>> made;
  auto& entry = made[series];
  if (entry == nullptr) entry = std::make_unique<Servers>(static_cast<std::size_t>(series / 10));
  return *entry;
}

double seconds(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}
double server_cpu_seconds() { return seconds(CLOCK_PROCESS_CPUTIME_ID) - seconds(CLOCK_THREAD_CPUTIME_ID); }

void measure(benchmark::State& state, std::string_view address, bool gzip, bool fresh = false) {
  Client client(address, gzip, fresh);
  std::size_t bytes = client.scrape();  // the first one renders and compresses
  const double both_before = seconds(CLOCK_PROCESS_CPUTIME_ID);
  const double before = server_cpu_seconds();
  for (auto unused : state) bytes = client.scrape();
  state.counters["server_us"] = (server_cpu_seconds() - before) * 1e6 / static_cast<double>(state.iterations());
  state.counters["both_us"] =
      (seconds(CLOCK_PROCESS_CPUTIME_ID) - both_before) * 1e6 / static_cast<double>(state.iterations());
  state.counters["bytes"] = static_cast<double>(bytes);
}

void ours(benchmark::State& state, bool gzip) { measure(state, servers(state.range(0)).ours->addresses()[0], gzip); }
void fixed(benchmark::State& state, bool gzip) { measure(state, servers(state.range(0)).fixed[gzip]->addresses()[0], gzip); }

#define BOTH_SIZES(function, name, gzip) \
  BENCHMARK_CAPTURE(function, name, gzip)->Arg(1200)->Arg(100'000)->UseRealTime()->Unit(benchmark::kMicrosecond)
BOTH_SIZES(ours, identity, false);
BOTH_SIZES(fixed, identity, false);
BOTH_SIZES(ours, gzip, true);
BOTH_SIZES(fixed, gzip, true);

void ours_fresh(benchmark::State& state, bool gzip) {
  measure(state, servers(state.range(0)).ours->addresses()[0], gzip, true);
}

/// civetweb with the same options and a handler that only sends the same bytes.
void bare_fresh(benchmark::State& state, bool gzip) {
  static const std::string_view bytes = servers(state.range(0)).bytes[gzip].view();
  static const std::string address = [] {
    mg_init_library(MG_FEATURES_DEFAULT);
    mg_callbacks callbacks{};
    callbacks.begin_request = [](mg_connection* connection) {
      mg_printf(
          connection,
          "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n",
          bytes.size());
      mg_write(connection, bytes.data(), bytes.size());
      mg_disable_keep_alive(connection);
      return 200;
    };
    const char* settings[] = {"listening_ports",
                              "127.0.0.1:0",
                              "num_threads",
                              "4",
                              "tcp_nodelay",
                              "1",
                              "enable_keep_alive",
                              "yes",
                              "keep_alive_timeout_ms",
                              "360000",
                              "request_timeout_ms",
                              "3000",
                              "enable_auth_domain_check",
                              "no",
                              nullptr};
    mg_context* const context = mg_start(&callbacks, nullptr, settings);
    if (context == nullptr) fail("civetweb does not start");
    mg_server_port port{};
    mg_get_server_ports(context, 1, &port);
    return "127.0.0.1:" + std::to_string(port.port);
  }();
  measure(state, address, gzip, true);
}
BENCHMARK_CAPTURE(ours_fresh, identity, false)->Arg(1200)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(bare_fresh, identity, false)->Arg(1200)->UseRealTime()->Unit(benchmark::kMicrosecond);

/// prometheus-cpp's server and registry with the same 100 000 series.
void exposer(benchmark::State& state, bool gzip) {
  static const std::string address = [] {
    auto registry = std::make_shared<prometheus::Registry>();
    const std::shared_ptr<const RenderedSnapshot> snapshot = servers(100'000).pool.current();
    for (const MetricDescriptor& metric : metric_catalogue()) {
      if (metric.scope != MetricScope::kType) continue;
      const auto figure = Figure::from_number(metric.figure);
      auto& family =
          prometheus::BuildGauge().Name(std::string(metric.name)).Help(std::string(metric.help)).Register(*registry);
      for (std::size_t row = 0; row < snapshot->row_count(); ++row) {
        if (!snapshot->has(figure, row)) continue;
        const RowLabels labels = snapshot->rows()[row].labels(snapshot->label_bytes().data());
        const std::uint64_t bits = snapshot->value(figure, row);
        family.Add({{"allocator", std::string(labels.allocator())}, {"type", std::string(labels.escaped_type())}})
            .Set(metric.format == ValueFormat::kDouble ? std::bit_cast<double>(bits) : static_cast<double>(bits));
      }
    }
    static prometheus::Exposer server("127.0.0.1:0", 2);
    server.RegisterCollectable(registry);
    static const std::shared_ptr<prometheus::Registry> kept = registry;  // the server has only a weak pointer
    return "127.0.0.1:" + std::to_string(server.GetListeningPorts().at(0));
  }();
  measure(state, address, gzip);
}
BENCHMARK_CAPTURE(exposer, identity, false)->Iterations(1)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(exposer, gzip, true)->Iterations(1)->UseRealTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace memstat

BENCHMARK_MAIN();
