// SPDX-License-Identifier: BSD-2-Clause
// The front of the HTTP server: it accepts connections, refuses those that the access list does not admit, waits until a
// request's header is whole, and only then gives the connection to civetweb, one at a time. Stalled, half-sent and dripping
// headers and dead peers therefore never hold a thread. When all threads are held, the connection that needs its thread
// least gives it up.
//
// It runs inside civetweb's call of accept (http_accept.h), on civetweb's own thread: no request changes threads more often
// than it would without it.
#pragma once

#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/base/unique_fd.h"
#include "daemon/http/access_list.h"
#include "daemon/http/connections.h"
#include "daemon/http/listeners.h"

struct pollfd;

namespace memstat {

class HttpFront {
 public:
  struct Options {
    std::size_t connections = 1024;
    std::size_t per_address = 512;
    std::size_t threads = 32;
    std::size_t header_bytes = 8192;
    std::chrono::milliseconds header_deadline{3000};
    std::size_t untaken_bytes = 16 << 20;
    std::function<void(std::string_view)> log = {};  ///< May be empty. Must not throw.
    const Clock& clock = system_clock();
  };

  HttpFront(Options options, AccessList access, HttpListeners listeners);
  ~HttpFront();
  HttpFront(const HttpFront&) = delete;
  HttpFront& operator=(const HttpFront&) = delete;

  /// Makes the bell and the pipe that wakes next(). Fails when the system gives no descriptors.
  Result<void> open();
  /// next() returns -1 from now on, and every connection is shut down, now and when it changes its state. Idempotent.
  void stop();
  /// Closes what civetweb has not closed. Call when civetweb has ended.
  void close();

  /// A connection that was not accepted, as if one had come from `peer` to the first listener. One at a time: false when
  /// the one before has not been taken yet. Thread safety: safe.
  bool adopt(UniqueFd& connection, Endpoint peer);

  // For http_accept.cpp.

  /// civetweb listens: `descriptor` is its listener. False when it has one already.
  bool take_listener(int descriptor);
  [[nodiscard]] bool is_listener(int descriptor) const { return descriptor >= 0 && descriptor == listener_; }
  [[nodiscard]] bool has_listener() const { return listener_ >= 0; }
  /// Puts the bell in the place of civetweb's listener.
  void ring_at_listener() const;
  /// As accept(2), of the next connection whose request is whole. Waits for it; -1 when stopped.
  int next(sockaddr* address, socklen_t* length);

  // For civetweb's worker threads. Thread-safe.

  /// The connection that this thread has just been given; nullptr when it is none of ours.
  HttpConnection* claim();
  /// The connection of this thread is in another state.
  void change(HttpConnection& connection, ConnectionState state);
  /// The close of this thread's connection will throw away what the client has not taken.
  void reset(HttpConnection& connection);
  /// The connection of this thread is about to be closed: nothing here touches its descriptor from now on. What the client
  /// has not taken yet stays under watch by a descriptor of the front's own.
  void end(HttpConnection& connection);
  /// See HttpConnections::may_keep. False when stopping, too.
  [[nodiscard]] bool may_keep(const HttpConnection& connection);
  /// Where a connection came in.
  [[nodiscard]] const std::vector<Endpoint>& endpoints() const { return listeners_.endpoints(); }
  [[nodiscard]] std::size_t evictions() const { return evictions_; }

 private:
  // What the loop of next() does, on civetweb's accepting thread.
  HttpConnection* give_or_yield(TimePoint now, TimePoint& wake) MEMSTAT_REQUIRES(mutex_);
  void collect_descriptors(TimePoint now, TimePoint& wake) MEMSTAT_REQUIRES(mutex_);
  void wait_until(TimePoint wake);
  void accept_from(std::size_t listener);
  void take_adopted();
  void take(int descriptor, const sockaddr_in& from, std::size_t listener, bool is_own = false);
  bool make_room_for_a_file();
  bool make_room_for_a_client(std::uint32_t address, bool narrow) MEMSTAT_REQUIRES(mutex_);
  void examine(HttpConnection& connection);
  void refuse_late(TimePoint now);
  void look_at_untaken(TimePoint now) MEMSTAT_REQUIRES(mutex_);
  bool look_at(HttpConnection& connection, TimePoint now) MEMSTAT_REQUIRES(mutex_);
  void give_up(HttpConnection& connection) MEMSTAT_REQUIRES(mutex_);
  void drop(HttpConnection& connection);
  void shut_down(HttpConnection& connection) MEMSTAT_REQUIRES(mutex_);
  void wake_if_waiting() MEMSTAT_REQUIRES(mutex_);
  void wake() const;

  Options options_;
  AccessList access_;
  HttpListeners listeners_;
  Mutex mutex_;
  HttpConnections connections_ MEMSTAT_GUARDED_BY(mutex_);  // only next() adds, and removes what no thread holds
  HttpConnection* handed_over_ MEMSTAT_GUARDED_BY(mutex_) = nullptr;
  bool wants_thread_ MEMSTAT_GUARDED_BY(mutex_) = false;  // next() waits for a thread or for claim()
  bool stopping_ MEMSTAT_GUARDED_BY(mutex_) = false;
  UniqueFd adopted_ MEMSTAT_GUARDED_BY(mutex_);
  Endpoint adopted_peer_ MEMSTAT_GUARDED_BY(mutex_);
  TimePoint look_again_ MEMSTAT_GUARDED_BY(mutex_) = TimePoint::max();  // when next() looks at untaken answers by itself
  std::size_t look_at_count_ MEMSTAT_GUARDED_BY(mutex_) = 0;            // or as soon as there are this number of them
  std::atomic<std::size_t> evictions_{0};
  int listener_ = -1;
  int bell_ = -1;
  int wake_pipe_[2] = {-1, -1};
  // The accepting thread's own.
  std::vector<pollfd> polled_;
  std::vector<HttpConnection*> polled_connections_;
  std::vector<char> header_;
  TimePoint listening_again_;  // no file could be had: until then no connection is accepted
  TimePoint refill_;
  TimePoint looked_;  // when the descriptors were last polled
};

}  // namespace memstat
