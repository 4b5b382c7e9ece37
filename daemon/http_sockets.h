// SPDX-License-Identifier: BSD-2-Clause
// The plain socket work around civetweb: addresses to listen on, why a bind fails, which descriptor a connection has
// (civetweb does not tell, and without it neither an exact write deadline nor a prompt stop is possible), and sending under
// a deadline.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace memstat {

/// An IPv4 address and a port, both in host byte order. Address 0 means all interfaces, port 0 any free port.
struct Endpoint {
  std::uint32_t address = 0;
  std::uint16_t port = 0;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

/// "127.0.0.1:8947" or "localhost:8947". Fails (kData) on anything else, saying what would be right.
Result<Endpoint> parse_endpoint(std::string_view text);

/// "127.0.0.1:8947".
std::string format_endpoint(Endpoint endpoint);

/// Tries to listen on all of `endpoints` at once, with civetweb's options, and lets go again. Fails with the errno and with
/// words on the first address that cannot be had. What it finds free can be taken by another program the next moment.
Result<void> probe_endpoints(std::span<const Endpoint> endpoints);

/// The two ends of one accepted connection.
struct Connected {
  int descriptor = -1;
  Endpoint local;
};

/// Finds the accepted connection that comes from `peer` and arrived at `local_port`, among all descriptors of this process.
/// Nothing when there is none. Costs one system call for each descriptor below the one found.
std::optional<Connected> find_connection(Endpoint peer, std::uint16_t local_port);

/// The descriptors of this process that listen on, or were accepted from, one of `listeners`.
std::vector<int> find_descriptors_of(std::span<const Endpoint> listeners);

/// Whether a connection that arrived at `local` came in through `listener`.
constexpr bool came_through(Endpoint local, Endpoint listener) {
  return local.port != 0 && local.port == listener.port && (listener.address == 0 || listener.address == local.address);
}

/// How a response's bytes are sent. The bytes are borrowed and may be many pieces; no system call gets more than 64 KiB.
struct Sending {
  std::chrono::steady_clock::time_point deadline;
  /// Called with true when the client's buffers are full and with false when bytes flow again. May be empty.
  std::function<void(bool stalled)> on_stall;
};

/// Sends all of `pieces` on a non-blocking socket. False when the client went away or did not take them before the deadline.
bool send_all(int descriptor, std::span<const std::string_view> pieces, const Sending& sending);

/// Makes the close that follows throw away what the client has not taken, so that the kernel keeps nothing for it.
void discard_on_close(int descriptor);

/// Ends our half of the connection, then reads and drops what the client still sends, at most 64 KiB and 200 ms, so that a
/// refusal reaches a client that is still sending (closing with unread bytes would reset the connection and destroy it).
void finish_refusal(int descriptor);

/// Whether bytes wait to be read.
bool has_unread_bytes(int descriptor);

}  // namespace memstat
