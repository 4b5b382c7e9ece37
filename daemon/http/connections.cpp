// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/http/connections.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <tuple>

namespace memstat {
namespace {

using State = ConnectionState;

// Whether `a` goes before `b` where one of them has to go.
bool goes_first(const HttpConnection& a, const HttpConnection& b) {
  return std::tuple(!a.narrow, a.state, a.since) < std::tuple(!b.narrow, b.state, b.since);  // kWaiting, kUntaken, kReady
}

std::chrono::milliseconds grace(State state) {
  switch (state) {
    case State::kReading: return HttpConnections::kHeaderGrace;
    case State::kStalled: return HttpConnections::kReadGrace;
    default: return std::chrono::milliseconds(0);
  }
}

bool is_idle(State state) { return state == State::kKept || state == State::kDraining; }

}  // namespace

HttpConnections::HttpConnections(std::size_t connections, std::size_t per_address, std::size_t threads,
                                 std::size_t narrow_bytes)
    : connections_(connections), per_address_(per_address), threads_(threads), narrow_bytes_(narrow_bytes) {
  live_.reserve(connections);
  free_.reserve(connections);
  held_list_.reserve(connections);
  for (HttpConnection& connection : connections_) free_.push_back(&connection);
}

void HttpConnections::count(const HttpConnection& connection, std::ptrdiff_t by) {
  if (connection.state == State::kReady) ready_ += static_cast<std::size_t>(by);
  if (connection.holds_thread()) held_ += static_cast<std::size_t>(by);
  if (connection.state == State::kUntaken) untaken_answers_ += static_cast<std::size_t>(by);
}

HttpConnection& HttpConnections::add(int descriptor, Endpoint peer, std::size_t listener, TimePoint now) {
  assert(!free_.empty());
  HttpConnection& connection = *free_.back();
  free_.pop_back();
  connection = {};
  connection.descriptor = descriptor;
  connection.peer = peer;
  connection.listener = listener;
  connection.since = now;
  connection.place = live_.size();
  live_.push_back(&connection);
  return connection;
}

void HttpConnections::remove(HttpConnection& connection) {
  count(connection, -1);
  untaken_bytes_ -= connection.untaken;
  if (connection.holds_thread()) std::erase(held_list_, &connection);
  live_.back()->place = connection.place;
  live_[connection.place] = live_.back();
  live_.pop_back();
  connection.descriptor = -1;
  free_.push_back(&connection);
}

void HttpConnections::change(HttpConnection& connection, State state, TimePoint now) {
  const bool held = connection.holds_thread();
  count(connection, -1);
  connection.state = state;
  connection.since = now;
  count(connection, 1);
  if (!held && connection.holds_thread()) held_list_.push_back(&connection);
  if (held && !connection.holds_thread()) std::erase(held_list_, &connection);
}

void HttpConnections::note_untaken(HttpConnection& connection, std::size_t bytes, TimePoint now) {
  if (bytes < connection.untaken) connection.since = now;
  untaken_bytes_ += bytes - connection.untaken;
  connection.untaken = bytes;
}

std::size_t HttpConnections::untaken_bytes_of(std::uint32_t address) const {
  std::size_t bytes = 0;
  for (const HttpConnection* const connection : live_)
    bytes += connection->peer.address == address ? connection->untaken : 0;
  return bytes;
}

HttpConnection* HttpConnections::longest_untaken() const {
  if (untaken_answers_ == 0) return nullptr;
  HttpConnection* found = nullptr;
  std::size_t found_bytes = 0;
  for (HttpConnection* const connection : live_) {
    if (connection->state != State::kUntaken) continue;
    if (found != nullptr && connection->peer.address == found->peer.address) {
      if (connection->since < found->since) found = connection;
      continue;
    }
    const std::size_t bytes = untaken_bytes_of(connection->peer.address);
    if (found == nullptr || bytes > found_bytes || (bytes == found_bytes && connection->since < found->since)) {
      found = connection;
      found_bytes = bytes;
    }
  }
  return found;
}

std::size_t HttpConnections::threads_of(std::uint32_t address) const {
  return static_cast<std::size_t>(std::count_if(held_list_.begin(), held_list_.end(),
                                                [&](const HttpConnection* held) { return held->peer.address == address; }));
}

HttpConnection* HttpConnections::longest_waiting() const {
  HttpConnection* found = nullptr;
  for (HttpConnection* const connection : live_) {
    if (connection->state == State::kWaiting && (found == nullptr || connection->since < found->since)) found = connection;
  }
  return found;
}

HttpConnection* HttpConnections::oldest() const {
  HttpConnection* found = nullptr;
  for (HttpConnection* const connection : live_) {
    if (!connection->holds_thread() && (found == nullptr || goes_first(*connection, *found))) found = connection;
  }
  return found;
}

HttpConnection* HttpConnections::too_many(std::uint32_t address) const {
  const bool full = free_.empty();
  if (!full && live_.size() < per_address_) return nullptr;
  std::size_t same = 0;
  HttpConnection* found = nullptr;
  for (HttpConnection* const connection : live_) {
    if (connection->peer.address != address) continue;
    ++same;
    if (!connection->holds_thread() && (found == nullptr || goes_first(*connection, *found))) found = connection;
  }
  if (same >= per_address_) return found;
  return full ? oldest() : nullptr;
}

HttpConnection* HttpConnections::next_request() const {
  if (ready_ == 0) return nullptr;
  if (HttpConnection* const wide = next_of(false); wide != nullptr) return wide;
  const auto narrow =
      std::count_if(held_list_.begin(), held_list_.end(), [](const HttpConnection* held) { return held->narrow; });
  return static_cast<std::size_t>(narrow) < std::max<std::size_t>(threads_ / 4, 1) ? next_of(true) : nullptr;
}

HttpConnection* HttpConnections::next_of(bool narrow) const {
  HttpConnection* found = nullptr;
  std::size_t found_threads = 0;
  std::optional<std::uint32_t> full;  // an address that leaves too much untaken
  for (HttpConnection* const connection : live_) {
    const std::uint32_t address = connection->peer.address;
    if (connection->state != State::kReady || connection->narrow != narrow || full == address) continue;
    if (found != nullptr && address == found->peer.address) {
      if (connection->since > found->since) found = connection;
      continue;
    }
    if (narrow && untaken_bytes_ > narrow_bytes_ && untaken_bytes_of(address) > narrow_bytes_) {
      full = address;
      continue;
    }
    const std::size_t threads = threads_of(address);
    if (found == nullptr || threads < found_threads || (threads == found_threads && connection->since > found->since)) {
      found = connection;
      found_threads = threads;
    }
  }
  return found;
}

HttpConnections::Yield HttpConnections::yield_thread(TimePoint now) const {
  Yield yield;
  std::size_t most_threads = 0;
  for (HttpConnection* const connection : held_list_) {
    const State state = connection->state;
    if (connection->shut_down || (!is_idle(state) && state != State::kReading && state != State::kStalled)) continue;
    const auto due = connection->since + grace(state);
    if (due > now) {
      yield.next = std::min(yield.next, due);
      continue;
    }
    const std::size_t threads = threads_of(connection->peer.address);
    const HttpConnection* const found = yield.connection;
    if (found == nullptr ||
        std::tuple(!is_idle(state), -static_cast<std::ptrdiff_t>(threads), connection->since) <
            std::tuple(!is_idle(found->state), -static_cast<std::ptrdiff_t>(most_threads), found->since)) {
      yield.connection = connection;
      most_threads = threads;
    }
  }
  return yield;
}

bool HttpConnections::may_keep(const HttpConnection& connection) const {
  if (held_ * 4 > threads_ * 3) return false;
  return held_ * 2 <= threads_ || threads_of(connection.peer.address) * 2 <= threads_;
}

}  // namespace memstat
