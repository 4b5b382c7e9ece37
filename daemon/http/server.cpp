// SPDX-License-Identifier: BSD-2-Clause
// civetweb has a small role: its worker threads parse request headers and call `begin_request`, which answers
// everything. So its files, scripts, uploads and upgrades are never reached, nor is its body reader, since no body is
// passed on. A worker waits for its next request in the callbacks that civetweb calls before it reads from its link.
#include "daemon/http/server.h"

#include <civetweb.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <ctime>
#include <exception>

#include "core/base/ascii.h"
#include "core/base/text.h"
#include "core/base/thread_name.h"
#include "core/base/unique_fd.h"
#include "daemon/http/civetweb_links.h"
#include "daemon/http/front.h"
#include "daemon/http/rules.h"
#include "daemon/http/sockets.h"

namespace memstat {
namespace {

// A worker thread's own data.
struct WorkerData {
  HttpConnection* connection = nullptr;  // connection of the current request
  UniqueFd link;                         // this end of the link
  bool link_closes = false;              // after the current request
  Outgoing request;                      // to civetweb
  std::optional<std::string> authority;  // authority of a request in absolute form
  std::string path;
  std::string remote_address;
  std::array<HttpHeader, MG_MAX_HEADERS> headers;
  std::time_t date_second = -1;
  std::array<char, 32> date{};
};

// The first header line for civetweb. The link always stays open. The front decides whether the client's connection does.
constexpr std::size_t kFilesOfALink = 4;  // a socket pair, and as many for a faster program
constexpr std::string_view kStay = "Connection: keep-alive\r\n";

// A request as far as it could be parsed, and the server's own response if it rejects it.
struct ValidatedRequest {
  HttpRequest request;
  bool head_only = false;
  bool keep_alive = false;
  bool is_upgrade = false;
  int refusal = 0;  // status; 0: the handler answers
  std::string_view why;

  ValidatedRequest& refuse(int status, std::string_view words) {
    refusal = status;
    why = words;
    keep_alive = false;
    return *this;
  }
};

ValidatedRequest check_request(const mg_request_info& info, WorkerData& worker, bool checks_host) {
  ValidatedRequest validated;
  HttpRequest& request = validated.request;
  request.method = info.request_method;
  validated.head_only = request.method == "HEAD";
  if (validated.head_only) request.method = "GET";
  const Endpoint& peer = worker.connection->peer;
  worker.remote_address = peer.port == 0 ? "unix" : format_ip(peer.address);
  request.remote_address = worker.remote_address;
  request.is_own = worker.connection->is_own;
  if (info.num_headers >= MG_MAX_HEADERS) return validated.refuse(431, "too many header lines");  // civetweb's maximum

  const bool http_11 = std::strcmp(info.http_version, "1.1") == 0;
  validated.keep_alive = http_11;
  int hosts = 0;
  bool body = false;
  for (int i = 1; i < info.num_headers; ++i) {  // the first is kStay
    const HttpHeader header{info.http_headers[i].name, info.http_headers[i].value};
    worker.headers[static_cast<std::size_t>(i) - 1] = header;
    if (equals_ignoring_case(header.name, "Host")) {
      request.host = header.value;
      ++hosts;
    } else if (equals_ignoring_case(header.name, "Connection")) {
      validated.keep_alive = list_contains(header.value, "keep-alive") && !list_contains(header.value, "upgrade") &&
                             !list_contains(header.value, "close");
    } else if (equals_ignoring_case(header.name, "Upgrade")) {
      validated.is_upgrade = true;
    } else if (equals_ignoring_case(header.name, "Transfer-Encoding")) {
      body = true;
    } else if (equals_ignoring_case(header.name, "Content-Length")) {
      const auto length = parse_u64(header.value);
      if (!length) return validated.refuse(400, "Content-Length is not a number");
      body = body || *length != 0;
    }
  }
  request.headers = {worker.headers.data(), static_cast<std::size_t>(info.num_headers) - 1};
  if (body) return validated.refuse(413, "this server accepts no request body");
  if (hosts > 1 || (hosts == 0 && http_11)) return validated.refuse(400, "exactly one Host header is needed");
  if (!decode_path(info.request_uri, worker.path)) return validated.refuse(400, "the path is malformed");
  request.path = worker.path;
  if (info.query_string != nullptr) request.query = info.query_string;
  if (checks_host &&
      ((hosts == 1 && !is_loopback_host(request.host)) || (worker.authority && !is_loopback_host(*worker.authority)))) {
    return validated.refuse(403,
                            "this address serves only this machine: the Host header must be localhost, 127.x.x.x or [::1]. "
                            "A reverse proxy must set it so");
  }
  return validated;
}

std::string_view date_of_now(const Clock& clock, WorkerData& worker) {
  const auto now = static_cast<std::time_t>(clock.realtime_ns() / 1'000'000'000);
  if (now != worker.date_second) {
    std::tm parts{};
    ::gmtime_r(&now, &parts);
    // The names are English, because memstatd sets no locale.
    std::strftime(worker.date.data(), worker.date.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
    worker.date_second = now;
  }
  return worker.date.data();
}

void append_number(std::string& text, std::uint64_t number) {
  std::array<char, 20> digits;
  text.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr);
}

void make_head(const Clock& clock, WorkerData& worker, const HttpResponse& response, bool keep_alive) {
  std::size_t body_bytes = response.text.size();
  for (const std::string_view piece : response.pieces) body_bytes += piece.size();
  std::string& head = worker.connection->head;
  head.assign("HTTP/1.1 ");
  append_number(head, static_cast<std::uint64_t>(response.status));
  head.append(" ")
      .append(mg_get_response_code_text(nullptr, response.status))
      .append("\r\nDate: ")
      .append(date_of_now(clock, worker));
  if (!response.content_type.empty()) head.append("\r\nContent-Type: ").append(response.content_type);
  if (response.status != 304) {  // 304 ends with its header
    head.append("\r\nContent-Length: ");
    append_number(head, body_bytes);
  }
  head.append(keep_alive ? "\r\nConnection: keep-alive" : "\r\nConnection: close");
  head.append("\r\nX-Content-Type-Options: nosniff\r\nCache-Control: ").append(response.cache_control).append("\r\n");
  for (const auto& [name, value] : response.headers) {
    if (value.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos) continue;  // it would inject another header
    head.append(name).append(": ").append(value).append("\r\n");
  }
  head.append("\r\n");
}

HttpResponse short_answer(int status, std::string_view why) {
  return plain(status, std::string(mg_get_response_code_text(nullptr, status)).append(": ").append(why).append("\n"));
}

class CivetwebServer final : public HttpServer {
 public:
  CivetwebServer(HttpServerOptions options, HttpListeners listeners, HttpHandler handler)
      : options_(std::move(options)),
        handler_(std::move(handler)),
        front_(options_, std::move(listeners)),
        links_(options_.threads, [this] { front_.release_files(kFilesOfALink); }),
        worker_data_(options_.threads) {}
  ~CivetwebServer() override { CivetwebServer::stop(); }

  Result<void> begin() {
    std::signal(SIGPIPE, SIG_IGN);
    // Once, since civetweb's count of initializations is not thread-safe.
    [[maybe_unused]] static const unsigned features = mg_init_library(MG_FEATURES_DEFAULT);
    const std::string threads = std::to_string(options_.threads);
    const std::string bytes = std::to_string(kMaxHeaderBytes + kStay.size() + 1);
    // The port is never bound: civetweb_calls.cpp intercepts that.
    const char* settings[][2] = {{"listening_ports", "127.0.0.1:0"},
                                 {"num_threads", threads.c_str()},
                                 {"enable_keep_alive", "yes"},
                                 {"max_request_size", bytes.c_str()},
                                 {"decode_url", "no"},
                                 {"decode_query_string", "no"},
                                 {"enable_auth_domain_check", "no"},
                                 {nullptr, nullptr}};
    mg_callbacks callbacks{};
    callbacks.init_thread = on_thread;
    callbacks.init_connection = on_link;
    callbacks.begin_request = on_request;
    callbacks.end_request = on_request_end;
    callbacks.http_error = on_error;
    callbacks.connection_close = on_close;
    callbacks.log_message = on_log;
    mg_init_data init{};
    init.callbacks = &callbacks;
    init.user_data = this;
    init.configuration_options = settings[0];
    std::array<char, 256> text{};
    mg_error_data error{};  // civetweb 1.16 has further members before these
    error.text = text.data();
    error.text_buffer_size = text.size();
    use_for_civetweb(&links_);
    context_ = mg_start2(&init, &error);
    use_for_civetweb(nullptr);
    if (context_ == nullptr) {
      return make_error(ErrorCode::kIo, "HTTP server", std::string("cannot start: ") + text.data());
    }
    if (!links_.has_listener()) {
      return make_error(ErrorCode::kData, "HTTP server",
                        "civetweb does not use this program's definition of listen(2); link libcivetweb without -Bsymbolic");
    }
    return front_.start();
  }

  void stop() override {
    front_.stop();
    links_.stop();
    if (context_ != nullptr) {
      mg_stop(context_);
      context_ = nullptr;
    }
  }

  [[nodiscard]] std::vector<std::string> addresses() const override {
    std::vector<std::string> texts;
    for (const Endpoint& endpoint : front_.endpoints()) texts.push_back(format_endpoint(endpoint));
    return texts;
  }

  [[nodiscard]] bool answers(std::string_view path, std::chrono::milliseconds patience) override {
    const Endpoint kOwnPeer{IpAddress::v4(0x7FFFFFFF),
                            1};  // the loopback network's broadcast address, which no client can have
    const TimePoint due = options_.clock.now() + patience;
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) return false;
    const UniqueFd own(ends[0]);
    UniqueFd others(ends[1]);
    const std::string request = "GET " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    if (::send(own.get(), request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size()))
      return false;
    if (!front_.adopt(std::move(others), kOwnPeer)) return false;
    constexpr std::string_view kGood = "HTTP/1.1 200 ";
    std::array<char, kGood.size()> status{};
    for (std::size_t have = 0; have < status.size();) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(due - options_.clock.now()).count();
      pollfd readable{own.get(), POLLIN, 0};
      if (left <= 0 || ::poll(&readable, 1, static_cast<int>(std::min<std::int64_t>(left, 60'000))) < 0) return false;
      const ssize_t got = ::recv(own.get(), status.data() + have, status.size() - have, MSG_DONTWAIT);
      if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return false;
      have += static_cast<std::size_t>(std::max<ssize_t>(got, 0));
    }
    return std::string_view(status.data(), status.size()) == kGood;
  }

  [[nodiscard]] std::size_t evictions() const override { return front_.evictions(); }

 private:
  static CivetwebServer& of(const mg_connection* connection) {
    return *static_cast<CivetwebServer*>(mg_get_user_data(mg_get_context(connection)));
  }
  static WorkerData& worker_of(const mg_connection* connection) {
    return *static_cast<WorkerData*>(mg_get_thread_pointer(connection));
  }

  // civetweb's callbacks. They must not throw into C code.
  static void* on_thread(const mg_context* context, int type) noexcept {
    auto& server = *static_cast<CivetwebServer*>(mg_get_user_data(context));
    name_thread(type == 1 ? "memstatd-http" : "memstatd-links");
    if (type == 0) {
      server.links_.ring();
      use_for_civetweb(&server.links_);
    }
    if (type != 1) return nullptr;  // only workers serve connections
    return &server.worker_data_[server.threads_started_++];
  }

  static int on_link(const mg_connection* connection, void** data) noexcept {
    *data = nullptr;
    WorkerData& worker = worker_of(connection);
    CivetwebServer& server = of(connection);
    worker.link = server.links_.claim();
    worker.link_closes = false;
    server.wait_for_request(worker);
    return 0;
  }

  static int on_request(mg_connection* connection) noexcept {
    const mg_request_info& info = *mg_get_request_info(connection);
    WorkerData& worker = worker_of(connection);
    CivetwebServer& server = of(connection);
    try {
      const bool checks_host = server.checks_host(*worker.connection);
      const ValidatedRequest validated = check_request(info, worker, checks_host);
      if (validated.is_upgrade) close_link(connection, worker);  // civetweb closes it anyway
      if (validated.refusal != 0) {
        close_link(connection, worker);  // civetweb would wait for a body
        server.refuse(worker, validated.refusal, validated.why, validated.head_only);
      } else {
        const bool keep_alive = validated.keep_alive && server.options_.keep_alive_idle.count() > 0;
        server.respond(worker, server.call_handler(validated.request), validated.head_only, keep_alive);
      }
    } catch (...) {
      server.front_.log("no memory to answer a request");
    }
    return 200;  // answered; civetweb does nothing more
  }

  static void on_request_end(const mg_connection* connection, int /*status*/) noexcept {
    WorkerData& worker = worker_of(connection);
    if (!worker.link_closes) of(connection).wait_for_request(worker);
  }

  // civetweb could not parse the request. It closes the link after this call.
  static int on_error(mg_connection* connection, int status, const char* message) noexcept {
    WorkerData& worker = worker_of(connection);
    CivetwebServer& server = of(connection);
    try {
      if (worker.connection != nullptr) server.refuse(worker, status, message);
    } catch (...) {
      server.front_.log("no memory to refuse a request");
    }
    return 0;
  }

  static void on_close(const mg_connection* connection) noexcept {
    WorkerData& worker = worker_of(connection);
    CivetwebServer& server = of(connection);
    server.give_up(worker);
    worker.link = UniqueFd();
    server.links_.renew();
  }

  static int on_log(const mg_connection* connection, const char* message) noexcept {
    of(connection).front_.log(message);
    return 1;
  }

  static void close_link(mg_connection* connection, WorkerData& worker) {
    mg_disable_keep_alive(connection);
    worker.link_closes = true;
  }
  // A web page's host name may resolve to loopback, but a web page cannot reach a unix socket.
  [[nodiscard]] bool checks_host(const HttpConnection& connection) const {
    return is_loopback(front_.endpoints()[connection.listener].address);
  }
  void give_up(WorkerData& worker) {
    if (worker.connection != nullptr) front_.abandon(*std::exchange(worker.connection, nullptr));
  }
  // Blocks until this worker's link has a request for civetweb, or the link ends when stopping.
  void wait_for_request(WorkerData& worker) noexcept {
    for (;;) {
      give_up(worker);  // a request that could not be answered for lack of memory
      try {
        worker.connection = front_.next_request();
        if (worker.connection == nullptr) worker.link = UniqueFd();  // stopping: civetweb reads the end of the link
        if (worker.connection == nullptr || pass_on(worker)) return;
      } catch (...) {
        front_.log("no memory to read a request");
      }
    }
  }

  // Sends the header of the worker's request to civetweb, in origin form and after kStay. Returns false if it was
  // rejected.
  bool pass_on(WorkerData& worker) {
    HttpConnection& connection = *worker.connection;
    const std::string_view header = std::string_view(connection.input).substr(0, connection.header_bytes);
    worker.authority.reset();
    const bool is_too_long = header.size() >= kMaxHeaderBytes;
    if (is_too_long || !is_strict_header(header)) {
      refuse(worker, is_too_long ? 431 : 400, is_too_long ? "the header has more than 8 KiB" : "malformed request");
      return false;
    }
    const std::size_t target = header.find(' ') + 1;
    const std::size_t rest = header.find("\r\n") + 2;
    std::size_t path = target;
    constexpr std::string_view kScheme = "http://";
    if (equals_ignoring_case(header.substr(target, kScheme.size()), kScheme)) {
      path = std::min(header.find('/', target + kScheme.size()), header.find(' ', target));
      worker.authority = header.substr(target + kScheme.size(), path - target - kScheme.size());
    }
    worker.request.clear();
    for (const std::string_view part :
         {header.substr(0, target), header.substr(path, rest - path), kStay, header.substr(rest)})
      worker.request.add(part);
    // If only a part of the request was sent, the link ends and civetweb rejects the part.
    if (worker.request.send(worker.link.get()) != Outgoing::Status::kDone) worker.link = UniqueFd();
    return true;
  }

  HttpResponse call_handler(const HttpRequest& request) {
    try {
      return handler_(request);
    } catch (const std::exception& error) {
      front_.log(std::string("the handler of ") + std::string(request.path) + " failed: " + error.what());
    } catch (...) {
      front_.log("the handler of " + std::string(request.path) + " failed");
    }
    return short_answer(500, "the page could not be made; see the log");
  }

  void respond(WorkerData& worker, HttpResponse response, bool head_only, bool keep_alive) {
    HttpConnection& connection = *worker.connection;
    connection.response = std::move(response);
    make_head(options_.clock, worker, connection.response, keep_alive);
    connection.closes = !keep_alive;
    worker.connection = nullptr;
    front_.respond(connection, head_only);
  }

  void refuse(WorkerData& worker, int status, std::string_view why, bool head_only = false) {
    worker.connection->drains = true;
    respond(worker, short_answer(status, why), head_only, false);
  }

  HttpServerOptions options_;
  HttpHandler handler_;
  HttpFront front_;
  CivetwebLinks links_;
  std::vector<WorkerData> worker_data_;
  std::atomic<std::size_t> threads_started_{0};
  mg_context* context_ = nullptr;
};

}  // namespace

std::optional<std::string_view> HttpRequest::header(std::string_view name) const {
  for (const HttpHeader& header : headers) {
    if (equals_ignoring_case(header.name, name)) return header.value;
  }
  return {};
}

Result<std::unique_ptr<HttpServer>> HttpServer::start(HttpServerOptions options, HttpHandler handler) {
  auto listeners = HttpListeners::open(options.listen);
  if (!listeners) return listeners.error();
  return start(std::move(options), *std::move(listeners), std::move(handler));
}

Result<std::unique_ptr<HttpServer>> HttpServer::start(HttpServerOptions options, HttpListeners listeners,
                                                      HttpHandler handler) {
  if (options.threads == 0) return make_error(ErrorCode::kData, "HTTP server", "needs at least one thread");
  auto server = std::make_unique<CivetwebServer>(std::move(options), std::move(listeners), std::move(handler));
  if (auto started = server->begin(); !started) return started.error();
  return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace memstat
