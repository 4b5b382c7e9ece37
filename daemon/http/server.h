// SPDX-License-Identifier: BSD-2-Clause
// The embedded HTTP server: plain HTTP/1.1 with one handler for all responses. Uses only the worker threads and the
// request parser of civetweb; server.cpp is the only file that includes its header.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/clock.h"
#include "core/base/not_copyable.h"
#include "core/base/result.h"
#include "daemon/http/listeners.h"
#include "daemon/http/message.h"

namespace memstat {

/// Answers requests. Called on several threads at once, so it must be thread-safe. Exceptions become status 500.
using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

struct HttpServerOptions {
  /// At least one. Ignored if listeners are passed.
  std::vector<Endpoint> listen = {{kLoopbackAddress, 8947}};
  /// Networks that may connect, besides loopback. Others are refused before a thread is used.
  std::vector<IpNetwork> allow = {};
  /// Requests answered at the same time; at least 1. Slow clients do not block a thread.
  unsigned threads = 3;
  /// Maximum number of connections, in total and per client. One more evicts the connection that has been in its state
  /// longest, but never one whose request is being answered.
  std::size_t connections = 1024;
  std::size_t connections_per_address = 512;
  /// With more open connections than this, new ones get small kernel buffers.
  std::size_t full_buffers = 64;
  /// The request header must be complete within this time after the connection is accepted.
  std::chrono::milliseconds header_deadline{3000};
  /// A client must take the whole response within this time, or it is dropped.
  std::chrono::milliseconds write_deadline{10'000};
  /// Maximum of response bytes in memory for slow clients. Above it, the oldest response of the client with the most
  /// bytes is evicted.
  std::size_t unsent_bytes = 16 << 20;
  /// Time for which an idle connection is kept open. Longer than Prometheus's five minutes, so that the client closes it:
  /// a server that closes it might lose a request that is on its way. 0: none is kept.
  std::chrono::milliseconds keep_alive_idle{360'000};
  /// Receives errors, one line per call, on any thread. May be empty. Unauthorized clients can cause lines, so limit
  /// their rate.
  std::function<void(std::string_view)> log = {};
  const Clock& clock = system_clock();
};

/// A running server. Thread safety: addresses() is safe; start, stop and the destructor must be called by one thread.
class HttpServer : public Interface {
 public:
  /// Listens, and starts the threads. They inherit the caller's privileges and filters, so call this after privileges
  /// are dropped; signals are blocked in them. From then on the process ignores SIGPIPE. The error's `path` is the
  /// failing address or option.
  static Result<std::unique_ptr<HttpServer>> start(HttpServerOptions options, HttpHandler handler);
  /// Same, on sockets that already listen, for programs that drop privileges in between.
  static Result<std::unique_ptr<HttpServer>> start(HttpServerOptions options, HttpListeners listeners, HttpHandler handler);

  /// The listening addresses, in the order of the options, with real ports: "127.0.0.1:41234",
  /// "unix:/run/memstatd/memstatd.sock".
  [[nodiscard]] virtual std::vector<std::string> addresses() const = 0;

  /// Whether a GET of `path` gets status 200 within `patience`. The request comes from this process, from an address
  /// that no client has, and is processed like any other. Thread safety: safe.
  [[nodiscard]] virtual bool answers(std::string_view path, std::chrono::milliseconds patience) = 0;

  /// Connections closed to make room for others.
  [[nodiscard]] virtual std::size_t evictions() const = 0;

  /// Stops listening, closes all connections and ends the threads. Waits for running handlers, but not for clients.
  /// Idempotent.
  virtual void stop() = 0;
};

}  // namespace memstat
