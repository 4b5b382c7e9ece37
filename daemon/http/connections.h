// SPDX-License-Identifier: BSD-2-Clause
// The table of an HTTP server's connections, and the choices made on it: which request is answered next, and which
// connection is evicted when there are too many. Performs no I/O; the caller passes the time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "daemon/http/message.h"
#include "daemon/http/sockets.h"

namespace memstat {

/// Whose share of a server's connections a peer takes: one host of IPv6 has a /64 of addresses.
IpAddress client_of(const IpAddress& address);

/// A worker owns a connection while it is kAnswering; at any other time the front does.
enum class ConnectionState : std::uint8_t {
  kReading,    ///< The request header is not complete yet.
  kReady,      ///< It is complete; the request waits for a worker.
  kAnswering,  ///< A worker has it.
  kWriting,    ///< The rest of the response waits for room in the socket's send buffer.
  kSent,       ///< The kernel has the whole response; the client has not acknowledged it, or still sends what is dropped.
  kIdle,       ///< Kept open for the next request.
};
inline constexpr std::size_t kConnectionStates = 6;

/// One connection. Its address does not change while it lives.
struct HttpConnection {
  int descriptor = -1;
  Endpoint peer;
  IpAddress client;          ///< Whose share of the table it takes.
  std::size_t listener = 0;  ///< Index of the listener that accepted it.
  TimePoint since;           ///< When `state` began.
  ConnectionState state = ConnectionState::kReading;
  bool is_own = false;     ///< Made by this process, not accepted from a client.
  bool closes = false;     ///< The current response is the last.
  bool drains = false;     ///< The client may still be sending: read and drop it before the close.
  bool was_kept = false;   ///< It was kept open once: the front polls it while a worker has it, too, so that the worker
                           ///< need not wake the front for the next request.
  bool is_polled = false;  ///< The front polls it now.
  bool has_more = false;   ///< The client sent more while a worker has it: not polled until then.
  bool ended = false;      ///< The client has ended its half; only its acknowledgement is awaited.
  std::string input;       ///< Received and not answered yet.
  std::size_t header_bytes = 0;  ///< Length of the first request in `input`, once it is complete.
  std::size_t dropped = 0;       ///< Bytes dropped while kSent.
  HttpResponse response;
  std::string head;        ///< Status line and header of the response.
  Outgoing outgoing;       ///< The part of the response not sent yet; borrows from `head` and `response`.
  std::size_t unsent = 0;  ///< Bytes of `outgoing` that the table counts.
  TimePoint retry;         ///< While kWriting: not polled before this. While kSent: examined again then.
  std::size_t place = 0;   ///< For the table.
};

/// The table. Reuses its entries. Thread safety: none.
class HttpConnections {
 public:
  using State = ConnectionState;

  HttpConnections(std::size_t connections, std::size_t per_address);

  /// A new entry in state kReading. The table must not be full().
  HttpConnection& add(int descriptor, Endpoint peer, std::size_t listener, TimePoint now);
  void remove(HttpConnection& connection);
  void change(HttpConnection& connection, State state, TimePoint now);
  /// Bytes of the connection's own response that are not sent yet.
  void note_unsent(HttpConnection& connection, std::size_t bytes);

  /// All connections, in no order. Adding and removing invalidates it.
  [[nodiscard]] const std::vector<HttpConnection*>& all() const { return live_; }
  [[nodiscard]] bool full() const { return live_.size() >= capacity_; }
  [[nodiscard]] std::size_t ready() const { return ready_; }
  [[nodiscard]] std::size_t unsent_bytes() const { return unsent_bytes_; }

  /// The next request to answer, or nullptr: of the address that holds the fewest workers, and of these the newest, because
  /// in a flood the newest is the one whose client still waits.
  [[nodiscard]] HttpConnection* next_request() const;

  /// The connection to evict before one more of `client` may be added, or nullptr when there is room. Only the address's
  /// own when that has its share. Of the state that most of them are in, which is where a flood is, the one that has been in
  /// it for longest. Never one that a worker has.
  [[nodiscard]] HttpConnection* too_many(const IpAddress& client) const;
  /// The connection that has been in this state for longest; nullptr when there is none.
  [[nodiscard]] HttpConnection* oldest(State state) const;
  /// The oldest unfinished response of the address with the most unsent bytes; nullptr when there is none.
  [[nodiscard]] HttpConnection* largest_unsent() const;

 private:
  template <typename Predicate>
  [[nodiscard]] HttpConnection* oldest_of(Predicate matches) const;
  [[nodiscard]] std::size_t unsent_of(const IpAddress& client) const;

  std::size_t capacity_;
  std::size_t per_address_;
  std::vector<std::unique_ptr<HttpConnection>> connections_;
  std::vector<HttpConnection*> live_;
  std::vector<HttpConnection*> free_;
  std::vector<HttpConnection*> answering_;
  std::size_t ready_ = 0;
  std::size_t unsent_bytes_ = 0;
};

}  // namespace memstat
