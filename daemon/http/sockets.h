// SPDX-License-Identifier: BSD-2-Clause
// Socket calls of the HTTP server: addresses, and responses sent in pieces without ever blocking.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <chrono>
#include <cstddef>
#include <string_view>
#include <vector>

#include "core/base/ip_address.h"

namespace memstat {

/// Pause before retrying when the process or the system was out of descriptors.
inline constexpr std::chrono::milliseconds kPauseWithoutDescriptors{20};

/// An endpoint as a sockaddr.
class SocketAddress {
 public:
  SocketAddress() = default;
  explicit SocketAddress(const Endpoint& endpoint);
  /// For calls that fill it in.
  [[nodiscard]] sockaddr* get() { return &any_; }
  [[nodiscard]] const sockaddr* get() const { return &any_; }
  socklen_t length = sizeof(sockaddr_storage);
  /// The client or address; for a unix socket, an empty endpoint.
  [[nodiscard]] Endpoint endpoint() const;

 private:
  union {
    sockaddr_storage storage_{};
    sockaddr any_;
    sockaddr_un unix_;
    sockaddr_in v4_;
    sockaddr_in6 v6_;
  };
};

/// The unsent part of a response. Does not own the bytes.
class Outgoing {
 public:
  enum class Status {
    kDone,    ///< Everything is sent.
    kMore,    ///< The send buffer is full, or the turn is over.
    kFailed,  ///< The client is gone.
  };

  void clear();
  void add(std::string_view piece);
  /// Sends to a non-blocking socket until its send buffer is full, or for one turn: 1 MiB, in system calls of up to
  /// kMaxSocketWrite bytes.
  Status send(int descriptor);
  [[nodiscard]] std::size_t left() const { return left_; }

 private:
  std::vector<std::string_view> pieces_;
  std::size_t piece_ = 0;   // first piece that is not completely sent
  std::size_t offset_ = 0;  // bytes of it that were sent
  std::size_t left_ = 0;
};

/// The peer process of a unix socket, as an address that no host has, so that each process has its own share. On
/// systems that do not report the process, each user has one.
IpAddress peer_process(int descriptor);

/// Limits how much the kernel buffers for a client that does not read.
void use_small_send_buffer(int descriptor);

/// Makes the following close discard unacknowledged data and reset the connection.
void reset_on_close(int descriptor);

/// Whether the client's receive window is so small that a response would mostly wait here. No system's default is that
/// small. False if unknown, and for sockets other than TCP.
bool has_small_window(int descriptor);

/// Bytes sent but not acknowledged by the client; 0 also if the client is gone or the number is unknown.
std::size_t unacknowledged_bytes(int descriptor);

}  // namespace memstat
