// SPDX-License-Identifier: BSD-2-Clause
// The embedded HTTP server: plain HTTP/1.1, responses made by one handler. Of civetweb it uses worker threads and request
// parsing only; server.cpp is the only file that includes its header.
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
#include "daemon/http/message.h"

namespace memstat {

/// Makes the answer. Called on several threads at once, so it must be thread-safe. What it throws becomes status 500.
using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

struct HttpServerOptions {
  /// At least one. Not looked at when listeners are given.
  std::vector<Endpoint> listen = {{kLoopbackAddress, 8947}};
  /// Networks that may connect; loopback always may. Others are refused before a thread is taken.
  std::vector<IpNetwork> allow = {};
  /// Requests answered at once. Clients hold none, however slowly they send or read. 1 or more.
  unsigned threads = 3;
  /// Connections at once, of all clients and of one address. One more evicts the connection that has been in its state for
  /// longest, but none whose request is being answered.
  std::size_t connections = 1024;
  std::size_t connections_per_address = 512;
  /// While more connections than this are open, the kernel buffers less for each new one.
  std::size_t full_buffers = 64;
  /// The request header must be complete within this time after the connection is accepted.
  std::chrono::milliseconds header_deadline{3000};
  /// A client must take the whole response within this time, or it is dropped.
  std::chrono::milliseconds write_deadline{10'000};
  /// Maximum of response bytes that wait in memory for slow clients. More than that evicts the oldest response of the
  /// address that has most of them.
  std::size_t unsent_bytes = 16 << 20;
  /// How long an idle connection is kept for the next request. Longer than the five minutes of Prometheus, so that the
  /// client closes it: the client knows whether it is about to send a request. 0 keeps none.
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

  /// Where it listens, in the order of the options, with real ports: "127.0.0.1:41234", "unix:/run/memstatd/memstatd.sock".
  [[nodiscard]] virtual std::vector<std::string> addresses() const = 0;

  /// Whether a thread answers a GET of `path` with status 200 before `patience` is over. The request comes from this
  /// process, from an address that no client has, and takes the way of any other through the server. Thread safety: safe.
  [[nodiscard]] virtual bool answers(std::string_view path, std::chrono::milliseconds patience) = 0;

  /// Connections that were closed so that others could be served.
  [[nodiscard]] virtual std::size_t evictions() const = 0;

  /// Stops listening, cuts all connections and ends the threads. Waits for no client, only for handlers that run.
  /// Idempotent.
  virtual void stop() = 0;

  HttpServer() = default;
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  virtual ~HttpServer() = default;
};

}  // namespace memstat
