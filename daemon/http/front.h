// SPDX-License-Identifier: BSD-2-Clause
// The front of the HTTP server: one thread that accepts connections, refuses those not on the access list, reads
// request headers with a deadline, and sends what clients do not accept immediately. A worker gets a connection only
// once its request header is complete, and returns it with the response. So clients never block a worker, however
// slowly they send or read.
#pragma once

#include <poll.h>

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include "core/base/mutex.h"
#include "core/base/not_copyable.h"
#include "core/base/result.h"
#include "core/base/unique_fd.h"
#include "daemon/http/connections.h"
#include "daemon/http/listeners.h"
#include "daemon/http/server.h"

namespace memstat {

/// Maximum size of a request header.
inline constexpr std::size_t kMaxHeaderBytes = 8192;

class HttpFront : NotCopyable {
 public:
  HttpFront(HttpServerOptions options, HttpListeners listeners);
  ~HttpFront() { stop(); }

  /// Starts the thread.
  Result<void> start();
  /// Ends the thread and closes all connections except those that workers have; these are closed on return. Idempotent.
  void stop();

  /// Adds a connection that was not accepted, as if it came from `peer` to the first listener. Returns false if there
  /// is no room, or when stopping. Thread safety: safe.
  bool adopt(UniqueFd connection, Endpoint peer);

  // For workers. Thread safety: safe.

  /// Waits for a request; nullptr when stopping.
  HttpConnection* next_request();
  /// Takes the connection back, and sends the response in `head` and `response` (without body if `head_only`).
  void respond(HttpConnection& connection, bool head_only);
  /// Takes the connection back without a response, and closes it.
  void abandon(HttpConnection& connection);

  /// Out of descriptors: closes up to `count` files of the reserve, or else the connection that has waited longest for its
  /// header. Returns false if there is neither. Thread safety: safe.
  bool release_files(std::size_t count);

  [[nodiscard]] const std::vector<Endpoint>& endpoints() const { return listeners_.endpoints(); }
  [[nodiscard]] std::size_t evictions() const { return evictions_; }
  void log(std::string_view line) const noexcept;

 private:
  void run();
  void wait_until(TimePoint wake);
  void serve(HttpConnection& connection) MEMSTAT_REQUIRES(mutex_);
  void accept_from(std::size_t listener);
  void take(UniqueFd descriptor, Endpoint peer, std::size_t listener);
  // Makes room for the connection and adds it. Returns nullptr if it is not worth that, or when stopping.
  HttpConnection* add(UniqueFd descriptor, Endpoint peer, std::size_t listener) MEMSTAT_REQUIRES(mutex_);
  void receive(HttpConnection& connection) MEMSTAT_REQUIRES(mutex_);
  void examine(HttpConnection& connection, std::size_t seen) MEMSTAT_REQUIRES(mutex_);
  void send(HttpConnection& connection) MEMSTAT_REQUIRES(mutex_);
  bool finish(HttpConnection& connection) MEMSTAT_REQUIRES(mutex_);
  void limit_unsent() MEMSTAT_REQUIRES(mutex_);
  [[nodiscard]] TimePoint deadline(const HttpConnection& connection) const;
  void expire(TimePoint now) MEMSTAT_REQUIRES(mutex_);
  void expire(HttpConnection& connection, TimePoint now) MEMSTAT_REQUIRES(mutex_);
  TimePoint collect_descriptors(TimePoint now) MEMSTAT_REQUIRES(mutex_);
  void evict(HttpConnection& connection) MEMSTAT_REQUIRES(mutex_);
  void call_workers() MEMSTAT_EXCLUDES(mutex_);
  [[nodiscard]] bool is_crowded() const MEMSTAT_REQUIRES(mutex_) {
    return connections_.all().size() >= options_.full_buffers;
  }
  void drop(HttpConnection& connection, bool reset = false) MEMSTAT_REQUIRES(mutex_);
  void wake() const;

  HttpServerOptions options_;
  HttpListeners listeners_;
  std::thread thread_;
  UniqueFd wake_read_;
  UniqueFd wake_write_;
  Mutex mutex_;
  CondVar request_ready_;
  HttpConnections connections_ MEMSTAT_GUARDED_BY(mutex_);
  bool stopping_ MEMSTAT_GUARDED_BY(mutex_) = false;
  std::atomic<std::size_t> evictions_{0};
  std::atomic<unsigned> new_requests_{0};  // for which no worker has been notified
  // Used by run() only.
  std::vector<pollfd> polled_;
  std::vector<HttpConnection*> polled_connections_;
  std::vector<char> received_;
  TimePoint listening_again_;  // out of descriptors: no accept before this time
  TimePoint refill_;           // time to reopen the spare descriptors
};

}  // namespace memstat
