// SPDX-License-Identifier: BSD-2-Clause
// Messages, with descriptors, between two of our processes over a socket pair that preserves message boundaries.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>

#include "core/base/unique_fd.h"

namespace memstat {

/// Maximum number of descriptors in a message; the kernel closes the rest.
inline constexpr std::size_t kMaxPacketDescriptors = 4;

/// The two ends of a SOCK_SEQPACKET pair, close-on-exec.
struct PacketSockets {
  UniqueFd ours;
  UniqueFd theirs;
  /// Both ends are -1 on failure; see errno.
  static PacketSockets make();
};

/// A received message.
struct Packet {
  enum class State {
    kWhole,
    kTooLarge,  ///< It was larger than the buffers.
    kNoRoom,    ///< This process could not accept its descriptors, or there were more than kMaxPacketDescriptors.
    kNone,      ///< The other end closed the socket, or sent nothing before the socket's timeout.
  };
  State state = State::kNone;
  std::size_t size = 0;  ///< B
  std::size_t descriptor_count = 0;
  std::array<UniqueFd, kMaxPacketDescriptors> descriptors = {};
};

/// Sends one message, made of two parts, with at most kMaxPacketDescriptors descriptors. Returns false if the other end does
/// not accept it, and raises no SIGPIPE. Allocates nothing. Thread safety of both functions: safe, but messages from several
/// threads interleave.
bool send_packet(int socket, std::string_view head, std::string_view body = {}, std::span<const int> descriptors = {});

/// Waits for one message and receives it into `head` and then `body`. Allocates nothing.
Packet receive_packet(int socket, std::span<char> head, std::span<char> body = {});

/// The bytes of a message's fixed part. No padding, so no uninitialized stack bytes are sent.
template <typename T>
std::string_view packet_bytes(const T& message) {
  static_assert(std::has_unique_object_representations_v<T>);
  return {reinterpret_cast<const char*>(&message), sizeof message};
}
template <typename T>
std::span<char> packet_room(T& message) {
  static_assert(std::is_trivially_copyable_v<T>);
  return {reinterpret_cast<char*>(&message), sizeof message};
}

}  // namespace memstat
