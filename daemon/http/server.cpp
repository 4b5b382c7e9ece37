// SPDX-License-Identifier: BSD-2-Clause
// civetweb's part is small: it gives a connection that the front has found good a thread, and parses the header. The
// callback `begin_request` answers everything, so that its files, scripts, uploads and upgrades are never reached; bodies
// are refused, so that its body reader is not either; and answers are sent by our own code under our own deadline.
#include "daemon/http/server.h"

#include <civetweb.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <ctime>
#include <exception>

#include "core/base/ascii.h"
#include "core/base/mutex.h"
#include "core/base/text.h"
#include "core/base/unique_fd.h"
#include "daemon/http/accept.h"
#include "daemon/http/access_list.h"
#include "daemon/http/front.h"
#include "daemon/http/rules.h"
#include "daemon/http/sockets.h"
#include "daemon/http/thread_defaults.h"

namespace memstat {
namespace {

constexpr int kMaxHeaderBytes = 8192;

// civetweb counts initialisations, but not thread-safely.
Mutex library_mutex;

// What one worker thread owns. Only that thread touches it.
struct WorkerData {
  HttpConnection* connection = nullptr;
  const char* buffer_begin = nullptr;  // lowest place at which civetweb's read buffer was seen to hold a request
  std::string head;
  std::string path;
  std::vector<std::string_view> pieces;
  std::array<HttpHeader, MG_MAX_HEADERS> headers;
  std::time_t date_second = -1;
  std::array<char, 32> date{};
};

// A request as far as it could be read, and what the server itself has to say to it.
struct ValidatedRequest {
  HttpRequest request;
  bool head_only = false;
  bool keep_alive = false;
  int refusal = 0;  // status, or 0 when the handler is to answer
  std::string_view why;

  ValidatedRequest& refuse(int status, std::string_view words) {
    refusal = status;
    why = words;
    keep_alive = false;
    return *this;
  }
};

// civetweb forgives bare line feeds, blanks before colons, doubled blanks and leading empty lines. Each has been used to
// make two readers see different requests, so none is forgiven here. It cuts its buffer into strings in place, so the gaps
// between them show how lines ended: CR and LF leave two zeros.
bool is_strict(const mg_request_info& info) {
  const char* end = info.request_method + std::strlen(info.request_method);
  if (info.request_uri != end + 1) return false;
  end = info.query_string != nullptr ? info.query_string : info.request_uri;
  end += std::strlen(end);
  if (info.http_version != end + 1 + std::strlen("HTTP/")) return false;
  end = info.http_version + std::strlen(info.http_version);
  for (int i = 0; i < info.num_headers; ++i) {
    const mg_header& header = info.http_headers[i];
    if (header.name != end + 2) return false;
    const char* after_name = header.name + std::strlen(header.name) + 1;
    if (header.value != after_name && *after_name == '\0') return false;  // "Name : value"
    end = header.value + std::strlen(header.value);
  }
  return info.num_headers == 0 || (end[1] == '\0' && end[2] == '\r');
}

// Sets path and query, and for a request in absolute form ("GET http://host/path") the host it is for.
bool read_target(const mg_request_info& info, std::string& path, ValidatedRequest& validated,
                 std::optional<std::string_view>& authority) {
  std::string_view target = info.request_uri;
  if (!target.starts_with('/')) {
    const std::size_t scheme = target.find("://");
    if (scheme == std::string_view::npos) return false;
    target.remove_prefix(scheme + 3);
    authority = target.substr(0, target.find('/'));
    target.remove_prefix(authority->size());
  }
  if (!decode_path(target, path)) return false;
  validated.request.path = path;
  if (info.query_string != nullptr) validated.request.query = info.query_string;
  return true;
}

ValidatedRequest check_request(const mg_request_info& info, WorkerData& worker, bool loopback_listener) {
  ValidatedRequest validated;
  HttpRequest& request = validated.request;
  request.method = info.request_method;
  validated.head_only = request.method == "HEAD";
  if (validated.head_only) request.method = "GET";
  request.remote_address = info.remote_addr;

  // civetweb skips leading blanks without counting them as received, so behind them it would read what an earlier client
  // left.
  const bool moved = worker.buffer_begin != nullptr && info.request_method > worker.buffer_begin;
  if (!moved) worker.buffer_begin = info.request_method;
  if (info.num_headers >= MG_MAX_HEADERS) return validated.refuse(431, "too many header lines");  // civetweb reads no more
  if (moved || !is_strict(info)) return validated.refuse(400, "malformed request");

  const bool http_11 = std::strcmp(info.http_version, "1.1") == 0;
  validated.keep_alive = http_11;
  int hosts = 0;
  bool body = false;
  for (int i = 0; i < info.num_headers; ++i) {
    const HttpHeader header{info.http_headers[i].name, info.http_headers[i].value};
    if (!is_header_name(header.name)) return validated.refuse(400, "the name of a header is malformed");
    worker.headers[static_cast<std::size_t>(i)] = header;
    if (equals_ignoring_case(header.name, "Host")) {
      request.host = header.value;
      ++hosts;
    } else if (equals_ignoring_case(header.name, "Connection")) {
      validated.keep_alive = list_contains(header.value, "keep-alive") && !list_contains(header.value, "upgrade") &&
                             !list_contains(header.value, "close");
    } else if (equals_ignoring_case(header.name, "Transfer-Encoding")) {
      body = true;
    } else if (equals_ignoring_case(header.name, "Content-Length")) {
      const auto length = parse_u64(header.value);
      if (!length) return validated.refuse(400, "Content-Length is not a number");
      body = body || *length != 0;
    }
  }
  request.headers = {worker.headers.data(), static_cast<std::size_t>(info.num_headers)};
  if (body) return validated.refuse(413, "this server accepts no request body");
  if (hosts > 1 || (hosts == 0 && http_11)) return validated.refuse(400, "exactly one Host header is needed");
  std::optional<std::string_view> authority;
  if (!read_target(info, worker.path, validated, authority)) return validated.refuse(400, "the path is malformed");
  if (loopback_listener &&
      ((hosts == 1 && !is_loopback_host(request.host)) || (authority && !is_loopback_host(*authority)))) {
    return validated.refuse(403,
                            "this address serves only this machine: the Host header must be localhost, 127.x.x.x or [::1]. "
                            "A reverse proxy must set it so");
  }
  return validated;
}

std::string_view date_of_now(const Clock& clock, WorkerData& worker) {
  const auto now = static_cast<std::time_t>(clock.realtime_ns() / 1'000'000'000);
  if (now != worker.date_second) {
    static constexpr std::string_view kDays = "SunMonTueWedThuFriSat";
    static constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
    std::tm parts{};
    ::gmtime_r(&now, &parts);
    // strftime would ask the locale for the names.
    std::strftime(worker.date.data(), worker.date.size(), "---, %d --- %Y %H:%M:%S GMT", &parts);
    kDays.copy(worker.date.data(), 3, static_cast<std::size_t>(parts.tm_wday) * 3);
    kMonths.copy(worker.date.data() + 8, 3, static_cast<std::size_t>(parts.tm_mon) * 3);
    worker.date_second = now;
  }
  return worker.date.data();
}

void append_number(std::string& text, std::uint64_t number) {
  std::array<char, 20> digits;
  text.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr);
}

void make_head(const Clock& clock, WorkerData& worker, const HttpResponse& response, std::size_t body_bytes,
               bool keep_alive) {
  std::string& head = worker.head;
  head.assign("HTTP/1.1 ");
  append_number(head, static_cast<std::uint64_t>(response.status));
  head.append(" ").append(status_words(response.status)).append("\r\nDate: ").append(date_of_now(clock, worker));
  if (!response.content_type.empty()) head.append("\r\nContent-Type: ").append(response.content_type);
  if (response.status != 304) {  // which ends with its header
    head.append("\r\nContent-Length: ");
    append_number(head, body_bytes);
  }
  head.append(keep_alive ? "\r\nConnection: keep-alive" : "\r\nConnection: close");
  head.append("\r\nX-Content-Type-Options: nosniff\r\nCache-Control: ").append(response.cache_control).append("\r\n");
  for (const auto& [name, value] : response.headers) {
    if (value.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos) continue;  // would forge another header
    head.append(name).append(": ").append(value).append("\r\n");
  }
  head.append("\r\n");
}

HttpResponse short_answer(int status, std::string_view why) {
  return plain(status, std::string(status_words(status)).append(": ").append(why).append("\n"));
}

/// civetweb's options: names and values in turn.
class CivetwebSettings {
 public:
  explicit CivetwebSettings(const HttpServerOptions& options)
      : threads_(std::to_string(options.threads)),
        header_deadline_(std::to_string(options.header_deadline.count())),
        keep_alive_idle_(std::to_string(options.keep_alive_idle.count())),
        header_bytes_(std::to_string(kMaxHeaderBytes)),
        keeps_alive_(options.keep_alive_idle.count() > 0) {}
  CivetwebSettings(const CivetwebSettings&) = delete;
  CivetwebSettings& operator=(const CivetwebSettings&) = delete;
  /// Ends with nullptr. Lives as long as this.
  [[nodiscard]] const char** list() { return list_.data(); }

 private:
  std::string threads_;
  std::string header_deadline_;
  std::string keep_alive_idle_;
  std::string header_bytes_;
  bool keeps_alive_;
  std::array<const char*, 23> list_ = {"listening_ports",
                                       "127.0.0.1:0",  // what is asked for is ours to answer: see http_accept.h
                                       "num_threads",
                                       threads_.c_str(),
                                       "request_timeout_ms",
                                       header_deadline_.c_str(),
                                       "enable_keep_alive",
                                       keeps_alive_ ? "yes" : "no",
                                       "keep_alive_timeout_ms",
                                       keep_alive_idle_.c_str(),
                                       "max_request_size",
                                       header_bytes_.c_str(),
                                       "tcp_nodelay",
                                       "1",
                                       "decode_url",
                                       "no",
                                       "decode_query_string",
                                       "no",
                                       "enable_directory_listing",
                                       "no",
                                       "enable_auth_domain_check",
                                       "no",
                                       nullptr};
};

}  // namespace

std::optional<std::string_view> HttpRequest::header(std::string_view name) const {
  for (const HttpHeader& header : headers) {
    if (equals_ignoring_case(header.name, name)) return header.value;
  }
  return {};
}

class HttpServer::Impl {
 public:
  Impl(HttpServerOptions options, HttpListeners listeners, HttpHandler handler)
      : options_(std::move(options)),
        handler_(std::move(handler)),
        front_({.connections = options_.connections,
                .per_address = options_.connections_per_address,
                .threads = options_.threads,
                .header_bytes = kMaxHeaderBytes,
                .header_deadline = options_.header_deadline,
                .untaken_bytes = options_.untaken_bytes,
                .log = [this](std::string_view line) { log(line); },
                .clock = options_.clock},
               AccessList(options_.allow), std::move(listeners)) {}
  ~Impl() { stop(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Result<void> start();
  void stop();
  [[nodiscard]] std::vector<std::string> addresses() const;
  [[nodiscard]] bool answers(std::string_view path, std::chrono::milliseconds patience);
  [[nodiscard]] std::size_t evictions() const { return front_.evictions(); }

 private:
  static Impl& of(const mg_connection* connection) {
    return *static_cast<Impl*>(mg_get_user_data(mg_get_context(connection)));
  }
  static WorkerData& worker_of(const mg_connection* connection) {
    return *static_cast<WorkerData*>(mg_get_thread_pointer(connection));
  }

  // civetweb's callbacks. None may throw: C stands above them.
  static void* on_thread(const mg_context* context, int type) noexcept;
  static int on_connection(const mg_connection* connection, void** data) noexcept;
  static int on_request(mg_connection* connection) noexcept;
  static void on_request_end(const mg_connection* connection, int status) noexcept;
  static int on_error(mg_connection* connection, int status, const char* message) noexcept;
  static void on_close(const mg_connection* connection) noexcept;
  static int on_log(const mg_connection* connection, const char* message) noexcept;

  void log(std::string_view line) noexcept;
  void refuse(HttpConnection& connection);
  HttpResponse ask_handler(const HttpRequest& request);
  int answer(mg_connection* connection, WorkerData& worker, const mg_request_info& info);
  bool respond(WorkerData& worker, const HttpResponse& response, bool head_only, bool keep_alive);

  HttpServerOptions options_;
  HttpHandler handler_;
  HttpFront front_;
  std::vector<WorkerData> worker_data_;
  std::atomic<std::size_t> threads_started_{0};
  std::atomic<bool> started_{false};
  Mutex start_log_mutex_;
  std::string start_log_ MEMSTAT_GUARDED_BY(start_log_mutex_);
  bool library_ready_ = false;
  mg_context* context_ = nullptr;
};

Result<void> HttpServer::Impl::start() {
  worker_data_.resize(options_.threads);
  if (auto opened = front_.open(); !opened) return opened;
  {
    const MutexLock lock(library_mutex);
    mg_init_library(MG_FEATURES_DEFAULT);  // returns 0 for "no feature", which is success here
    library_ready_ = true;
  }
  CivetwebSettings settings(options_);
  mg_callbacks callbacks{};
  callbacks.init_thread = on_thread;
  callbacks.init_connection = on_connection;
  callbacks.begin_request = on_request;
  callbacks.end_request = on_request_end;
  callbacks.http_error = on_error;
  callbacks.connection_close = on_close;
  callbacks.log_message = on_log;
  mg_init_data init{&callbacks, this, settings.list()};
  std::array<char, 256> text{};
  mg_error_data error{nullptr, text.data(), text.size()};
  {
    const ThreadDefaultsScope birth;
    const CivetwebStart calls(front_);
    context_ = mg_start2(&init, &error);
  }
  if (context_ == nullptr) {
    const MutexLock lock(start_log_mutex_);
    Error failure = option_error("HTTP server", "", "cannot start: " + start_log_ + text.data());
    failure.code = ErrorCode::kIo;
    return failure;
  }
  if (!front_.has_listener()) {
    return option_error("HTTP server", "",
                        "civetweb does not use this program's definition of listen(2); link libcivetweb without -Bsymbolic");
  }
  started_.store(true, std::memory_order_release);
  return {};
}

void HttpServer::Impl::stop() {
  front_.stop();
  if (context_ != nullptr) {
    mg_stop(context_);
    context_ = nullptr;
  }
  front_.close();
  if (library_ready_) {
    const MutexLock lock(library_mutex);
    mg_exit_library();
    library_ready_ = false;
  }
}

bool HttpServer::Impl::answers(std::string_view path, std::chrono::milliseconds patience) {
  constexpr Endpoint kOwnPeer{0x7FFFFFFF, 1};  // the broadcast address of the loopback network, which no client can have
  const TimePoint due = options_.clock.now() + patience;
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) return false;
  const UniqueFd own(ends[0]);
  UniqueFd others(ends[1]);
  const std::string request = "GET " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  if (::send(own.get(), request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size())) return false;
  if (!front_.adopt(others, kOwnPeer)) return false;
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

std::vector<std::string> HttpServer::Impl::addresses() const {
  std::vector<std::string> texts;
  for (const Endpoint endpoint : front_.endpoints()) texts.push_back(format_endpoint(endpoint));
  return texts;
}

void* HttpServer::Impl::on_thread(const mg_context* context, int type) noexcept {
  auto& server = *static_cast<Impl*>(mg_get_user_data(context));
  if (type == 0) become_accepting_thread(server.front_);
  if (type != 1) return nullptr;  // only workers serve connections
  return &server.worker_data_[server.threads_started_++];
}

int HttpServer::Impl::on_connection(const mg_connection* connection, void** data) noexcept {
  *data = nullptr;
  worker_of(connection).connection = of(connection).front_.claim();
  return 0;
}

int HttpServer::Impl::on_request(mg_connection* connection) noexcept {
  const mg_request_info* info = mg_get_request_info(connection);
  WorkerData& worker = worker_of(connection);
  Impl& server = of(connection);
  try {
    if (worker.connection != nullptr) return server.answer(connection, worker, *info);
  } catch (const std::exception& error) {
    server.log(error.what());
  } catch (...) {
    server.log("unknown exception while a request was answered");
  }
  // No memory was left to answer it.
  mg_disable_keep_alive(connection);
  return 500;
}

void HttpServer::Impl::on_request_end(const mg_connection* connection, int /*status*/) noexcept {
  HttpConnection* const own = worker_of(connection).connection;
  if (own != nullptr) of(connection).front_.change(*own, ConnectionState::kKept);
}

// civetweb found the request unreadable, or its header did not come in time. It closes the connection after this.
int HttpServer::Impl::on_error(mg_connection* connection, int status, const char* message) noexcept {
  WorkerData& worker = worker_of(connection);
  Impl& server = of(connection);
  try {
    if (worker.connection != nullptr) {
      server.front_.change(*worker.connection, ConnectionState::kAnswering);
      if (server.respond(worker, short_answer(status, message), false, false)) server.refuse(*worker.connection);
    }
  } catch (...) {
    server.log("no memory to refuse a request");
  }
  return 0;
}

void HttpServer::Impl::on_close(const mg_connection* connection) noexcept {
  WorkerData& worker = worker_of(connection);
  if (worker.connection != nullptr) of(connection).front_.end(*worker.connection);
  worker.connection = nullptr;
}

int HttpServer::Impl::on_log(const mg_connection* connection, const char* message) noexcept {
  of(connection).log(message);
  return 1;
}

void HttpServer::Impl::log(std::string_view line) noexcept {
  try {
    if (!started_) {
      const MutexLock lock(start_log_mutex_);
      start_log_.append(line).append("; ");
    }
    if (options_.log) options_.log(line);
  } catch (...) {  // NOLINT(bugprone-empty-catch): no one is left to report to
  }
}

void HttpServer::Impl::refuse(HttpConnection& connection) {
  front_.change(connection, ConnectionState::kDraining);
  lingering_close(connection.descriptor, options_.clock);
}

HttpResponse HttpServer::Impl::ask_handler(const HttpRequest& request) {
  try {
    return handler_(request);
  } catch (const std::exception& error) {
    log(std::string("the handler of ") + std::string(request.path) + " failed: " + error.what());
  } catch (...) {
    log("the handler of " + std::string(request.path) + " failed");
  }
  return short_answer(500, "the page could not be made; see the log");
}

int HttpServer::Impl::answer(mg_connection* connection, WorkerData& worker, const mg_request_info& info) {
  HttpConnection& own = *worker.connection;
  front_.change(own, ConnectionState::kAnswering);
  ValidatedRequest validated = check_request(info, worker, is_loopback(front_.endpoints()[own.listener].address));
  validated.request.is_own = own.is_own;
  if (own.is_blank_first) validated.refuse(400, "malformed request");
  const HttpResponse response =
      validated.refusal != 0 ? short_answer(validated.refusal, validated.why) : ask_handler(validated.request);
  const bool keep_alive = validated.keep_alive && options_.keep_alive_idle.count() > 0 && front_.may_keep(own);
  const bool sent = respond(worker, response, validated.head_only, keep_alive);
  // Without this civetweb would read on for a request body, for as long as the client drips one.
  if (!keep_alive || !sent) mg_disable_keep_alive(connection);
  if (!sent) {
    front_.reset(own);
  } else if (validated.refusal != 0) {
    refuse(own);
  }
  return response.status;
}

bool HttpServer::Impl::respond(WorkerData& worker, const HttpResponse& response, bool head_only, bool keep_alive) {
  std::size_t body_bytes = response.text.size();
  for (const std::string_view piece : response.pieces) body_bytes += piece.size();
  make_head(options_.clock, worker, response, body_bytes, keep_alive);
  worker.pieces.clear();
  worker.pieces.push_back(worker.head);
  if (!head_only) {
    worker.pieces.insert(worker.pieces.end(), response.pieces.begin(), response.pieces.end());
    worker.pieces.push_back(response.text);
  }
  const auto on_stall = [this, &worker](bool stalled) {
    front_.change(*worker.connection, stalled ? ConnectionState::kStalled : ConnectionState::kAnswering);
  };
  return send_all(
      worker.connection->descriptor, worker.pieces,
      {.deadline = options_.clock.now() + options_.write_deadline, .on_stall = on_stall, .clock = options_.clock});
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;

Result<std::unique_ptr<HttpServer>> HttpServer::start(HttpServerOptions options, HttpHandler handler) {
  auto listeners = HttpListeners::open(options.listen);
  if (!listeners) return listeners.error();
  return start(std::move(options), *std::move(listeners), std::move(handler));
}

Result<std::unique_ptr<HttpServer>> HttpServer::start(HttpServerOptions options, HttpListeners listeners,
                                                      HttpHandler handler) {
  if (options.threads == 0) return option_error("HTTP server", "", "needs at least one thread");
  auto impl = std::make_unique<Impl>(std::move(options), std::move(listeners), std::move(handler));
  if (auto started = impl->start(); !started) return started.error();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

std::vector<std::string> HttpServer::addresses() const { return impl_->addresses(); }
bool HttpServer::answers(std::string_view path, std::chrono::milliseconds patience) {
  return impl_->answers(path, patience);
}
std::size_t HttpServer::evictions() const { return impl_->evictions(); }
void HttpServer::stop() { impl_->stop(); }

}  // namespace memstat
