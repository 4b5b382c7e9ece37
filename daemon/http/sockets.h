// SPDX-License-Identifier: BSD-2-Clause
// The plain socket work around civetweb: addresses, sending under a deadline, and refusing.
#pragma once

#include <netinet/in.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/clock.h"
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

/// The same for the system's calls.
sockaddr_in to_sockaddr(Endpoint endpoint);

/// How a response's bytes are sent. The bytes are borrowed and may be many pieces; no system call gets more than 64 KiB.
struct Sending {
  TimePoint deadline;
  /// Called with true when the client's buffers are full and with false when bytes flow again. May be empty.
  std::function<void(bool stalled)> on_stall;
  const Clock& clock = system_clock();
};

/// Sends all of `pieces` on a non-blocking socket. When the client does not keep up, the kernel's buffer is made larger, so
/// that it holds the rest of an ordinary page and the thread is free. False when the client went away or did not take them
/// before the deadline.
bool send_all(int descriptor, std::span<const std::string_view> pieces, const Sending& sending);

/// Makes the close that follows throw away what the client has not taken, so that the kernel keeps nothing for it.
void discard_on_close(int descriptor);

/// Ends our half of the connection, then reads and drops what the client still sends, at most 64 KiB and 200 ms, so that a
/// refusal reaches a client that is still sending (closing with unread bytes would reset the connection and destroy it).
void finish_refusal(int descriptor, const Clock& clock);

/// Sends `answer` as far as the client's buffers take it at once, and drops what it has sent. For a refusal that no thread
/// waits for; close it after that.
void refuse_now(int descriptor, std::string_view answer);

/// Makes poll report the descriptor only when `bytes` or more can be read, or when the peer has ended its half.
void report_from(int descriptor, int bytes);

/// Whether bytes wait to be read.
bool has_unread_bytes(int descriptor);

}  // namespace memstat
