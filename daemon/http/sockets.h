// SPDX-License-Identifier: BSD-2-Clause
// The plain socket work around civetweb: addresses, sending under a deadline, and refusing.
#pragma once

#include <netinet/in.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "core/base/clock.h"
#include "core/base/ipv4.h"

namespace memstat {

/// The endpoint for the system's calls.
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
void reset_on_close(int descriptor);

/// Ends our half of the connection, then reads and drops what the client still sends, at most 64 KiB and 200 ms, so that a
/// refusal reaches a client that is still sending (closing with unread bytes would reset the connection and destroy it).
void lingering_close(int descriptor, const Clock& clock);

/// Sends `answer` as far as the client's buffers take it at once, and drops what it has sent. For a refusal that no thread
/// waits for; close it after that.
void refuse_now(int descriptor, std::string_view answer);

/// Bytes that were sent and that the client's kernel has not acknowledged; the end of our half may count as one. 0 also when
/// the client is gone, and when the system does not say.
std::size_t untaken_bytes(int descriptor);

/// Bytes that the client's kernel takes now without its program reading any; the largest number when the system does not
/// say.
std::size_t window_of_client(int descriptor);

/// Makes poll report the descriptor only when `bytes` or more can be read, or when the peer has ended its half.
void report_from(int descriptor, int bytes);

/// Whether bytes wait to be read.
bool has_unread_bytes(int descriptor);

}  // namespace memstat
