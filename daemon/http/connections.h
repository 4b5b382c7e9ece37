// SPDX-License-Identifier: BSD-2-Clause
// The table of an HTTP server's connections, with its decisions: which request is answered next, and which connection
// is evicted if there are too many. Performs no I/O; the caller passes the time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "daemon/http/message.h"
#include "daemon/http/sockets.h"

namespace memstat {

/// The client whose share of the connections a peer uses. An IPv6 host has a whole /64.
IpAddress client_of(const IpAddress& address);

/// A worker owns a connection in state kAnswering; otherwise the front does.
enum class ConnectionState : std::uint8_t {
  kReading,    ///< The request header is not complete yet.
  kReady,      ///< It is complete; the request waits for a worker.
  kAnswering,  ///< A worker has it.
  kWriting,    ///< The rest of the response waits for room in the send buffer.
  kSent,       ///< The kernel has the whole response; the client has not acknowledged it, or is still sending.
  kIdle,       ///< Kept open for the next request.
};
inline constexpr std::size_t kConnectionStates = 6;

/// A connection. Its address in memory does not change.
struct HttpConnection {
  int descriptor = -1;
  Endpoint peer;
  IpAddress client;          ///< Determines its share of the table.
  std::size_t listener = 0;  ///< Index of the listener that accepted it.
  TimePoint since;           ///< Beginning of `state`.
  ConnectionState state = ConnectionState::kReading;
  bool is_own = false;     ///< Made by this process itself.
  bool closes = false;     ///< The current response is the last.
  bool drains = false;     ///< The client may still be sending: discard that before closing.
  bool was_kept = false;   ///< It was kept open once. Then the front polls it even while a worker has it, so that the worker
                           ///< need not wake the front for the next request.
  bool is_polled = false;  ///< The front is polling it now.
  bool has_more = false;   ///< The client sent more while a worker has it; not polled until the worker is done.
  bool ended = false;      ///< The client has shut down its side; only its acknowledgement is pending.
  std::string input;       ///< Received but not processed.
  std::size_t header_bytes = 0;  ///< Length of the first request in `input`, once it is complete.
  std::size_t dropped = 0;       ///< Bytes dropped while kSent.
  HttpResponse response;
  std::string head;        ///< Status line and header of the response.
  Outgoing outgoing;       ///< The unsent part of the response; borrows from `head` and `response`.
  std::size_t unsent = 0;  ///< Bytes of `outgoing` that are counted in the table.
  TimePoint retry;         ///< In kWriting: do not poll before this time. In kSent: check again then.
  std::size_t place = 0;   ///< Index in the table.
};

/// The table of connections. Reuses its entries until shrink().
class HttpConnections {
 public:
  using State = ConnectionState;

  HttpConnections(std::size_t connections, std::size_t per_address);

  /// Adds a connection in state kReading. The table must not be full().
  HttpConnection& add(int descriptor, Endpoint peer, std::size_t listener, TimePoint now);
  /// Its entry stays valid, without a descriptor, until shrink().
  void remove(HttpConnection& connection);
  /// Frees the entries that more connections needed than there are now.
  void shrink();
  void change(HttpConnection& connection, State state, TimePoint now);
  /// Sets the number of unsent bytes in the connection's own response.
  void note_unsent(HttpConnection& connection, std::size_t bytes);

  /// All connections, in no order. Invalidated by add() and remove().
  [[nodiscard]] const std::vector<std::unique_ptr<HttpConnection>>& all() const { return live_; }
  [[nodiscard]] bool full() const { return live_.size() >= capacity_; }
  [[nodiscard]] std::size_t unsent_bytes() const { return unsent_bytes_; }

  /// The next request to answer, or nullptr. Chooses the client with the fewest busy workers, and its newest request:
  /// in a flood, that is the one whose client is still waiting.
  [[nodiscard]] HttpConnection* next_request() const;

  /// The connection to evict before adding one of `client`; nullptr if there is room. If the client has used up its
  /// share, one of its own. Chooses the state with the most connections, which is where a flood is, and the oldest in
  /// that state. Never one that a worker has.
  [[nodiscard]] HttpConnection* too_many(const IpAddress& client) const;
  /// The connection that has been in this state longest; nullptr if there is none.
  [[nodiscard]] HttpConnection* oldest(State state) const;
  /// The oldest unfinished response of the client with the most unsent bytes; nullptr if there is none.
  [[nodiscard]] HttpConnection* largest_unsent() const;

 private:
  template <typename Predicate>
  [[nodiscard]] HttpConnection* oldest_of(Predicate matches) const;
  [[nodiscard]] std::size_t unsent_of(const IpAddress& client) const;

  std::size_t capacity_;
  std::size_t per_address_;
  std::vector<std::unique_ptr<HttpConnection>> live_;
  std::vector<std::unique_ptr<HttpConnection>> free_;
  std::vector<HttpConnection*> answering_;
  std::size_t unsent_bytes_ = 0;
};

}  // namespace memstat
