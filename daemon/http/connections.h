// SPDX-License-Identifier: BSD-2-Clause
// The table of an HTTP server's connections, and the choices made on it: which waiting request gets the next thread, which
// connection yields its thread to it, and which one goes when there are too many. Free of any socket; times are given.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/base/clock.h"
#include "daemon/http/sockets.h"

namespace memstat {

/// Where a connection is. The front owns it up to kHandedOver, a worker thread holds it from then on, and the front has it
/// again while it is kUntaken.
enum class ConnectionState : std::uint8_t {
  kWaiting,     ///< Its request's header is not whole yet.
  kUntaken,     ///< civetweb has closed it; the kernel still holds what the client has not taken of the last answer.
  kReady,       ///< The header is whole: it wants a thread.
  kHandedOver,  ///< civetweb has it, but no thread has taken it yet.
  kReading,     ///< A thread reads the header.
  kAnswering,   ///< The handler runs, or its answer is sent.
  kStalled,     ///< A thread waits for a client that does not read.
  kDraining,    ///< A thread drops what a refused client still sends.
  kKept,        ///< A thread waits for the next request.
};

/// One connection. Its place in memory does not change while it lives.
struct HttpConnection {
  int descriptor = -1;
  Endpoint peer;
  std::size_t listener = 0;  ///< Through which of the listeners it came.
  std::size_t seen = 0;      ///< Bytes of the header that have come; while kWaiting.
  TimePoint since;           ///< When `state` began; while kUntaken, when the client last took something.
  ConnectionState state = ConnectionState::kWaiting;
  bool narrow = false;          ///< Its client takes so little at a time that most of an answer would stay in the kernel.
  bool is_own = false;          ///< Of this process, not accepted from a client.
  bool is_blank_first = false;  ///< Its first request begins with a blank or the end of a line, which civetweb skips.
  bool shut_down = false;
  bool reset = false;       ///< Its close throws away what the client has not taken.
  std::size_t untaken = 0;  ///< Bytes that the kernel holds for the client; while kUntaken.
  std::size_t place = 0;    ///< For the table.

  [[nodiscard]] bool holds_thread() const { return state >= ConnectionState::kHandedOver; }
};

/// The table. Nothing in it allocates after the constructor. Thread safety: none.
class HttpConnections {
 public:
  using State = ConnectionState;

  /// How long a connection may keep its thread from a request that waits for one: short of its header, not reading. A whole
  /// header has come before a thread is given, so what takes long is the thread itself, on a busy machine.
  static constexpr std::chrono::milliseconds kHeaderGrace{1000};
  static constexpr std::chrono::milliseconds kReadGrace{500};

  /// While the kernel holds more than `narrow_bytes` for an address, requests of its narrow clients wait.
  HttpConnections(std::size_t connections, std::size_t per_address, std::size_t threads,
                  std::size_t narrow_bytes = std::numeric_limits<std::size_t>::max());

  /// A new entry in state kWaiting. It must not be full().
  HttpConnection& add(int descriptor, Endpoint peer, std::size_t listener, TimePoint now);
  void remove(HttpConnection& connection);
  void change(HttpConnection& connection, State state, TimePoint now);

  /// All of them, in no order. Adding and removing invalidates it.
  [[nodiscard]] const std::vector<HttpConnection*>& all() const { return live_; }
  [[nodiscard]] bool full() const { return free_.empty(); }
  [[nodiscard]] std::size_t held_threads() const { return held_; }
  [[nodiscard]] std::size_t ready() const { return ready_; }
  /// How many connections are kUntaken, and the bytes of all of them.
  [[nodiscard]] std::size_t untaken_answers() const { return untaken_answers_; }
  [[nodiscard]] std::size_t untaken_bytes() const { return untaken_bytes_; }

  /// The kernel was asked how much it holds for a connection that is kUntaken. Less than before means that the client reads.
  void note_untaken(HttpConnection& connection, std::size_t bytes, TimePoint now);
  /// The answer to give up when too many bytes are untaken: of the address with the most of them, the one of which nothing
  /// was taken for longest. nullptr when there is none.
  [[nodiscard]] HttpConnection* longest_untaken() const;

  /// The connection that has to go before one more from `address` may be added, or nullptr when there is room: of a narrow
  /// client before that of another; of these the one that has waited longest for its header, else the answer of which
  /// nothing was taken for longest, else the oldest request; of the same address when that has its share. A connection that
  /// a thread holds is never chosen.
  [[nodiscard]] HttpConnection* too_many(std::uint32_t address) const;
  /// The connection that has waited longest for its header, of any address; nullptr when none does.
  [[nodiscard]] HttpConnection* longest_waiting() const;

  /// The request to answer next, or nullptr: of the address that holds the fewest threads, and of these the newest, because
  /// in a flood it is the one whose client still waits. Narrow clients come after all others, have a quarter of the threads
  /// at most, and wait while their address leaves too much untaken: its clients that take their answers are served then.
  [[nodiscard]] HttpConnection* next_request() const;

  /// What yield_thread found.
  struct Yield {
    HttpConnection* connection = nullptr;  ///< nullptr: none may be taken from its client yet
    TimePoint next = TimePoint::max();     ///< when one may, if `connection` is nullptr
  };
  /// The connection that is to give its thread to a request. Idle ones go first, then those past their grace; of the address
  /// that holds the most threads; of these the one that has been so longest.
  [[nodiscard]] Yield yield_thread(TimePoint now) const;

  /// Whether `connection` may stay open when its answer is sent: at most three quarters of the threads may be held then, and
  /// half of them by one address.
  [[nodiscard]] bool may_keep(const HttpConnection& connection) const;

 private:
  [[nodiscard]] HttpConnection* oldest() const;
  [[nodiscard]] std::size_t threads_of(std::uint32_t address) const;
  [[nodiscard]] std::size_t untaken_bytes_of(std::uint32_t address) const;
  [[nodiscard]] HttpConnection* next_of(bool narrow) const;
  void count(const HttpConnection& connection, std::ptrdiff_t by);

  std::vector<HttpConnection> connections_;
  std::vector<HttpConnection*> live_;
  std::vector<HttpConnection*> free_;
  std::vector<HttpConnection*> held_list_;
  std::size_t per_address_;
  std::size_t threads_;
  std::size_t narrow_bytes_;
  std::size_t held_ = 0;
  std::size_t ready_ = 0;
  std::size_t untaken_answers_ = 0;
  std::size_t untaken_bytes_ = 0;
};

}  // namespace memstat
