// SPDX-License-Identifier: BSD-2-Clause
// Messages between two processes of ours: a pair of sockets that keeps them apart, and descriptors that go along.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>

#include "core/base/unique_fd.h"

namespace memstat {

/// Descriptors of one message at most; what is more the kernel closes.
inline constexpr std::size_t kMostPacketDescriptors = 4;

/// Two ends of SOCK_SEQPACKET, closed on exec. Thread safety: a plain value.
struct PacketSockets {
  UniqueFd ours;
  UniqueFd theirs;
  /// Both are -1 when the system gives none, see errno.
  static PacketSockets make();
};

/// What was received. Thread safety: a plain value.
struct Packet {
  enum class State {
    kWhole,
    kTooLarge,  ///< It had more bytes than there was room for.
    kNoRoom,    ///< This process could not take its descriptors, or they were more than it may have.
    kNone,      ///< The other end is gone, or silent for longer than the socket waits.
  };
  State state = State::kNone;
  std::size_t size = 0;  ///< B
  std::size_t descriptor_count = 0;
  std::array<UniqueFd, kMostPacketDescriptors> descriptors = {};
};

/// Sends one message, made of two parts, with descriptors, at most kMostPacketDescriptors. False: the other end does not
/// take it. No signal comes of that. Allocates nothing. Thread safety of both functions: safe, but messages of threads mix.
bool send_packet(int socket, std::string_view head, std::string_view body = {}, std::span<const int> descriptors = {});

/// Receives one message into `head` and what follows into `body`. Waits for it. Allocates nothing.
Packet receive_packet(int socket, std::span<char> head, std::span<char> body = {});

/// The bytes of a message's fixed part. It has no padding, so that nothing of the stack goes along.
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
