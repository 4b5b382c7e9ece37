// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/http/connections.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace memstat {

using State = ConnectionState;

IpAddress client_of(const IpAddress& address) {
  return address.is_v4() || is_loopback(address) ? address : address.masked(64);
}

HttpConnections::HttpConnections(std::size_t connections, std::size_t per_address)
    : capacity_(connections), per_address_(per_address) {
  live_.reserve(connections);
  free_.reserve(connections);  // so that remove() does not throw
}

HttpConnection& HttpConnections::add(int descriptor, Endpoint peer, std::size_t listener, TimePoint now) {
  assert(!full());
  if (free_.empty()) free_.push_back(std::make_unique<HttpConnection>());
  HttpConnection& connection = *free_.back();
  connection.descriptor = descriptor;
  connection.peer = peer;
  connection.client = client_of(peer.address);
  connection.listener = listener;
  connection.since = now;
  connection.place = live_.size();
  live_.push_back(std::move(free_.back()));
  free_.pop_back();
  return connection;
}

void HttpConnections::remove(HttpConnection& connection) {
  note_unsent(connection, 0);
  change(connection, State::kReading, connection.since);
  live_.back()->place = connection.place;
  live_[connection.place].swap(live_.back());
  free_.push_back(std::move(live_.back()));
  live_.pop_back();
  std::destroy_at(&connection);  // an assignment would keep the buffers' memory
  std::construct_at(&connection);
}

void HttpConnections::shrink() {
  constexpr std::size_t kSpare = 16;
  free_.resize(std::min(free_.size(), live_.size() + kSpare));
}

void HttpConnections::change(HttpConnection& connection, State state, TimePoint now) {
  if (connection.state == State::kAnswering) std::erase(answering_, &connection);
  connection.state = state;
  connection.since = now;
  if (state == State::kAnswering) answering_.push_back(&connection);
}

void HttpConnections::note_unsent(HttpConnection& connection, std::size_t bytes) {
  unsent_bytes_ += bytes - connection.unsent;
  connection.unsent = bytes;
}

std::size_t HttpConnections::unsent_of(const IpAddress& client) const {
  std::size_t bytes = 0;
  for (const auto& connection : live_) bytes += connection->client == client ? connection->unsent : 0;
  return bytes;
}

HttpConnection* HttpConnections::largest_unsent() const {
  HttpConnection* found = nullptr;
  std::size_t found_bytes = 0;
  for (const auto& connection : live_) {
    if (connection->unsent == 0 || connection->state != State::kWriting) continue;
    const bool is_same = found != nullptr && connection->client == found->client;
    const std::size_t bytes = is_same ? found_bytes : unsent_of(connection->client);
    if (bytes > found_bytes || (is_same && connection->since < found->since)) {
      found = connection.get();
      found_bytes = bytes;
    }
  }
  return found;
}

template <typename Predicate>
HttpConnection* HttpConnections::oldest_of(Predicate matches) const {
  HttpConnection* found = nullptr;
  for (const auto& connection : live_) {
    if (matches(*connection) && (found == nullptr || connection->since < found->since)) found = connection.get();
  }
  return found;
}

HttpConnection* HttpConnections::oldest(State state) const {
  return oldest_of([&](const HttpConnection& connection) { return connection.state == state; });
}

HttpConnection* HttpConnections::too_many(const IpAddress& client) const {
  if (live_.size() < per_address_ && !full()) return nullptr;
  const auto is_same = [&](const auto& connection) { return connection->client == client; };
  const auto same = static_cast<std::size_t>(std::count_if(live_.begin(), live_.end(), is_same));
  if (same < per_address_ && !full()) return nullptr;
  const auto may_go = [&](const HttpConnection& connection) {
    return connection.state != State::kAnswering && (same < per_address_ || connection.client == client);
  };
  std::array<std::size_t, kConnectionStates> counts{};
  for (const auto& connection : live_) counts[static_cast<std::size_t>(connection->state)] += may_go(*connection);
  const auto state = static_cast<State>(std::max_element(counts.begin(), counts.end()) - counts.begin());
  return oldest_of([&](const HttpConnection& connection) { return connection.state == state && may_go(connection); });
}

HttpConnection* HttpConnections::next_request() const {
  HttpConnection* found = nullptr;
  std::ptrdiff_t found_workers = 0;
  for (const auto& connection : live_) {
    if (connection->state != State::kReady) continue;
    const auto workers = std::count_if(answering_.begin(), answering_.end(),
                                       [&](const auto* other) { return other->client == connection->client; });
    if (found == nullptr || workers < found_workers || (workers == found_workers && connection->since > found->since)) {
      found = connection.get();
      found_workers = workers;
    }
  }
  return found;
}

}  // namespace memstat
