// SPDX-License-Identifier: BSD-2-Clause
#include "core/base/packet_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace memstat {
namespace {

#if defined(MSG_CMSG_CLOEXEC)
constexpr int kCloseOnExec = MSG_CMSG_CLOEXEC;
#else
constexpr int kCloseOnExec = 0;
#endif

iovec part_of(const void* bytes, std::size_t size) { return {.iov_base = const_cast<void*>(bytes), .iov_len = size}; }

}  // namespace

PacketSockets PacketSockets::make() {
  std::array<int, 2> ends{-1, -1};
#if defined(SOCK_CLOEXEC)
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return {};
#else
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends.data()) != 0) return {};
  for (const int end : ends) (void)::fcntl(end, F_SETFD, FD_CLOEXEC);
#endif
  return {.ours = UniqueFd(ends[0]), .theirs = UniqueFd(ends[1])};
}

bool send_packet(int socket, std::string_view head, std::string_view body, std::span<const int> descriptors) {
  std::array<iovec, 2> parts{part_of(head.data(), head.size()), part_of(body.data(), body.size())};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxPacketDescriptors * sizeof(int))> control{};
  msghdr header{};
  header.msg_iov = parts.data();
  header.msg_iovlen = parts.size();
  if (!descriptors.empty()) {
    const std::size_t bytes = std::min(descriptors.size(), kMaxPacketDescriptors) * sizeof(int);
    header.msg_control = control.data();
    header.msg_controllen = CMSG_SPACE(bytes);
    cmsghdr* const rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(bytes);
    std::memcpy(CMSG_DATA(rights), descriptors.data(), bytes);
  }
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(socket, &header, MSG_NOSIGNAL | MSG_EOR);  // some systems need MSG_EOR to end a message
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(head.size() + body.size());
}

Packet receive_packet(int socket, std::span<char> head, std::span<char> body) {
  std::array<iovec, 2> parts{part_of(head.data(), head.size()), part_of(body.data(), body.size())};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxPacketDescriptors * sizeof(int))> control{};
  msghdr header{};
  header.msg_iov = parts.data();
  header.msg_iovlen = parts.size();
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  ssize_t size = 0;
  do {
    size = ::recvmsg(socket, &header, kCloseOnExec);
  } while (size < 0 && errno == EINTR);
  Packet packet;
  if (size <= 0) return packet;
  packet.size = static_cast<std::size_t>(size);
  for (cmsghdr* rights = CMSG_FIRSTHDR(&header); rights != nullptr; rights = CMSG_NXTHDR(&header, rights)) {
    if (rights->cmsg_level != SOL_SOCKET || rights->cmsg_type != SCM_RIGHTS) continue;
    for (std::size_t offset = 0; offset + CMSG_LEN(sizeof(int)) <= rights->cmsg_len; offset += sizeof(int)) {
      int each = -1;
      std::memcpy(&each, CMSG_DATA(rights) + offset, sizeof each);
      UniqueFd descriptor(each);
      if (packet.descriptor_count < packet.descriptors.size())
        packet.descriptors[packet.descriptor_count++] = std::move(descriptor);
    }
  }
  packet.state = Packet::State::kWhole;
  if ((header.msg_flags & MSG_CTRUNC) != 0) packet.state = Packet::State::kNoRoom;
  if ((header.msg_flags & MSG_TRUNC) != 0) packet.state = Packet::State::kTooLarge;
  return packet;
}

}  // namespace memstat
