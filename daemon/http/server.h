// SPDX-License-Identifier: BSD-2-Clause
// The embedded HTTP server: plain HTTP/1.1 over IPv4, answers made by one handler. It wraps civetweb so that nothing of it
// is left but connection threads and header parsing; http_server.cpp is the only file that knows it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "daemon/http/listeners.h"

namespace memstat {

/// One header line of a request.
struct HttpHeader {
  std::string_view name;
  std::string_view value;
};

/// A request, checked: strict HTTP/1.0 or 1.1, without a body. Everything is borrowed until the handler returns.
struct HttpRequest {
  std::string_view method;  ///< "GET" for HEAD too: the server drops the body itself.
  std::string_view path;    ///< Percent-decoded, begins with '/', has no query and no NUL. Dots are left as they are.
  std::string_view query;   ///< As sent, without the '?'; empty when there is none.
  std::string_view host;    ///< The Host header; empty when there is none (HTTP/1.0).
  std::string_view remote_address;  ///< "192.0.2.1".
  std::span<const HttpHeader> headers = {};
  bool is_own = false;  ///< Made by HttpServer::answers.

  /// The value of the first header of this name, regardless of case.
  [[nodiscard]] std::optional<std::string_view> header(std::string_view name) const;
};

/// An answer. The body is `pieces` in order, then `text`; status 304 has none. Content-Length, Connection, Date and
/// X-Content-Type-Options are the server's business.
struct HttpResponse {
  int status = 200;
  std::string content_type = {};  ///< No such header when empty.
  std::vector<std::pair<std::string, std::string>> headers = {};
  /// no-store: what is as of a moment is never kept. no-cache, with an ETag: kept, and asked for again each time.
  std::string_view cache_control = "no-store";
  std::string text = {};                      ///< A small body.
  std::shared_ptr<const void> owner = {};     ///< Keeps what `pieces` point to alive until it is sent.
  std::vector<std::string_view> pieces = {};  ///< A large body, never copied.
};

/// A few words for a person.
inline HttpResponse plain(int status, std::string text) {
  return {.status = status, .content_type = "text/plain; charset=utf-8", .text = std::move(text)};
}

/// Makes the answer. Called on several threads at once, so it must be thread-safe. What it throws becomes status 500.
using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

struct HttpServerOptions {
  /// At least one. Not looked at when listeners are given.
  std::vector<Endpoint> listen = {{kLoopbackAddress, 8947}};
  /// IPv4 networks that may connect; 127.0.0.0/8 always may. Others are refused before a thread is taken.
  std::vector<Ipv4Network> allow = {};
  /// Requests answered and idle connections kept at once; each has a thread. 1 or more.
  unsigned threads = 32;
  /// Connections at once, of all clients and of one address. Of more, the one that has waited longest for its own header is
  /// closed, which is never one whose request is being answered.
  std::size_t connections = 1024;
  std::size_t connections_per_address = 512;
  /// A request's header must be whole so long after the connection was made.
  std::chrono::milliseconds header_deadline{3000};
  /// A client must have taken the whole answer so long after it was begun, else it is dropped.
  std::chrono::milliseconds write_deadline{10'000};
  /// Bytes of answers that the kernel may hold for clients whose connections are closed otherwise. Of more, the answer of
  /// which nothing was taken for longest is given up, of the address that has most of them.
  std::size_t untaken_bytes = 16 << 20;
  /// How long an idle connection is kept for a next request while threads are free; when they are not, idle connections go
  /// first. Longer than the five minutes of Prometheus, so that the end comes from the client, which knows whether it is
  /// about to ask. 0 means that none is kept.
  std::chrono::milliseconds keep_alive_idle{360'000};
  /// Told what goes wrong, one line a call, on any thread (an unauthorised client can cause lines: limit their rate). May be
  /// empty.
  std::function<void(std::string_view)> log = {};
  const Clock& clock = system_clock();
};

/// A running server. Thread safety: addresses() is safe; start, stop and the destructor belong to one thread.
class HttpServer {
 public:
  /// Listens, and starts the threads: with signals blocked and the privileges and filters of the calling thread, so call it
  /// after they are dropped. The process ignores SIGPIPE from then on. The error's `path` names the address or option that
  /// is wrong.
  static Result<std::unique_ptr<HttpServer>> start(HttpServerOptions options, HttpHandler handler);
  /// The same on sockets that listen already, for a program that gives up privileges in between.
  static Result<std::unique_ptr<HttpServer>> start(HttpServerOptions options, HttpListeners listeners, HttpHandler handler);

  /// Where it listens, in the order of the options, with real ports: "127.0.0.1:41234".
  [[nodiscard]] std::vector<std::string> addresses() const;

  /// Whether a thread answers a GET of `path` with status 200 before `patience` is over. The request comes from this
  /// process, from an address that no client has, and takes the way of any other through the server. Thread safety: safe.
  [[nodiscard]] bool answers(std::string_view path, std::chrono::milliseconds patience);

  /// How many connections were closed so that others could be served: too many of them, or holding a thread that a request
  /// waited for.
  [[nodiscard]] std::size_t evictions() const;

  /// Stops listening, cuts all connections and ends the threads. Waits for no client, only for handlers that run.
  /// Idempotent.
  void stop();

  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace memstat
