// SPDX-License-Identifier: BSD-2-Clause
// Socket calls of the HTTP server: addresses, and responses sent in pieces without ever blocking.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/ip_address.h"

namespace memstat {

/// Until a descriptor is asked for again when the process or the system had none left.
inline constexpr std::chrono::milliseconds kPauseWithoutDescriptors{20};

/// An endpoint in the form that the system's calls take. Thread safety: a plain value.
class SocketAddress {
 public:
  SocketAddress() = default;
  explicit SocketAddress(const Endpoint& endpoint);
  /// For calls that fill it in.
  [[nodiscard]] sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage_); }
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t length = sizeof(sockaddr_storage);
  /// The client or address; of a unix socket an endpoint without anything.
  [[nodiscard]] Endpoint endpoint() const;

 private:
  sockaddr_storage storage_{};
};

/// The part of a response that is not sent yet. The bytes are borrowed. Thread safety: none.
class Outgoing {
 public:
  enum class Status {
    kDone,    ///< Everything is sent.
    kMore,    ///< The socket's send buffer is full, or the turn is over.
    kFailed,  ///< The client is gone.
  };

  void clear();
  void add(std::string_view piece);
  /// Sends to a non-blocking socket until its send buffer is full, or for one turn: 1 MiB, at most 64 KiB a system call.
  Status send(int descriptor);
  [[nodiscard]] std::size_t left() const { return left_; }

 private:
  std::vector<std::string_view> pieces_;
  std::size_t piece_ = 0;   // the first one not sent completely
  std::size_t offset_ = 0;  // bytes of it that are sent
  std::size_t left_ = 0;
};

/// The process at the other end of a unix socket, as an address that no host has: each process has a share of its own. On
/// systems that do not report the process, each user has one.
IpAddress peer_process(int descriptor);

/// Limits what the kernel buffers for a client that does not read.
void use_small_send_buffer(int descriptor);

/// The close that follows discards what the client has not acknowledged and resets the connection.
void reset_on_close(int descriptor);

/// Sends `response` as far as the send buffer takes it, and drops what the client has sent. Close the socket afterwards.
void refuse_now(int descriptor, std::string_view response);

/// Whether the client's kernel takes so little at a time that a response would mostly wait here. No system's default window
/// is so small. False when the system does not report it, and for other sockets than TCP's.
bool has_small_window(int descriptor);

/// Bytes sent that the client has not acknowledged; 0 also when the client is gone or the system does not report it.
std::size_t unacknowledged_bytes(int descriptor);

}  // namespace memstat
