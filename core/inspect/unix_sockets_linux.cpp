// SPDX-License-Identifier: BSD-2-Clause
#include "core/inspect/unix_sockets.h"

#if defined(__linux__)

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "core/base/unique_fd.h"

namespace memstat {
namespace {

constexpr std::uint8_t kListen = 10;  // TCP_LISTEN, also used for unix sockets

struct DumpRequest {
  nlmsghdr header;
  unix_diag_req request;
};

bool send_request(int socket) {
  DumpRequest message{};
  message.header.nlmsg_len = sizeof message;
  message.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  message.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  message.request.sdiag_family = AF_UNIX;
  message.request.udiag_states = ~0U;
  message.request.udiag_show = UDIAG_SHOW_PEER | UDIAG_SHOW_RQLEN;
  return ::send(socket, &message, sizeof message, 0) == static_cast<ssize_t>(sizeof message);
}

/// Adds a socket from the message's payload.
void add_socket(const char* payload, std::size_t size, Buffer& out) {
  unix_diag_msg socket{};
  if (size < sizeof socket) return;
  std::memcpy(&socket, payload, sizeof socket);
  std::uint32_t peer = 0;
  unix_diag_rqlen queues{};
  for (std::size_t at = NLMSG_ALIGN(sizeof socket); at + sizeof(rtattr) <= size;) {
    rtattr attribute{};
    std::memcpy(&attribute, payload + at, sizeof attribute);
    if (attribute.rta_len < sizeof attribute || attribute.rta_len > size - at) return;
    const char* const value = payload + at + RTA_LENGTH(0);
    const std::size_t length = attribute.rta_len - sizeof attribute;
    if (attribute.rta_type == UNIX_DIAG_PEER && length >= sizeof peer) std::memcpy(&peer, value, sizeof peer);
    if (attribute.rta_type == UNIX_DIAG_RQLEN && length >= sizeof queues) std::memcpy(&queues, value, sizeof queues);
    at += RTA_ALIGN(attribute.rta_len);
  }
  out.append(std::to_string(socket.udiag_ino) + " " + std::to_string(peer) + " " + std::to_string(queues.udiag_rqueue) +
             " " + std::to_string(queues.udiag_wqueue) + (socket.udiag_type == SOCK_DGRAM ? " datagram" : " stream") +
             (socket.udiag_state == kListen ? " listening\n" : " connected\n"));
}

/// Adds the sockets of one datagram. Returns whether more follow; `failed` becomes the kernel's errno.
bool add_messages(const char* bytes, std::size_t size, Buffer& out, int& failed) {
  for (std::size_t at = 0; at + sizeof(nlmsghdr) <= size;) {
    nlmsghdr header{};
    std::memcpy(&header, bytes + at, sizeof header);
    if (header.nlmsg_len < sizeof header || header.nlmsg_len > size - at) return false;
    const std::size_t payload = header.nlmsg_len - NLMSG_HDRLEN;
    if (header.nlmsg_type == NLMSG_DONE) return false;
    if (header.nlmsg_type == NLMSG_ERROR) {
      nlmsgerr error{};
      if (payload >= sizeof error) std::memcpy(&error, bytes + at + NLMSG_HDRLEN, sizeof error);
      failed = error.error == 0 ? EIO : -error.error;
      return false;
    }
    if (header.nlmsg_type == SOCK_DIAG_BY_FAMILY) add_socket(bytes + at + NLMSG_HDRLEN, payload, out);
    at += NLMSG_ALIGN(header.nlmsg_len);
  }
  return true;
}

}  // namespace

Result<void> UnixSocketsTable::read(Buffer& out) {
  constexpr std::string_view kName = "sock_diag";
  constexpr std::size_t kMaxBytes = 4U << 20U;  // a line takes about 40
  out.clear();
  const UniqueFd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  const timeval patience{.tv_sec = 1, .tv_usec = 0};
  if (!socket || ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0 ||
      !send_request(socket.get())) {
    return system_error(kName, errno);
  }
  std::array<char, 32768> bytes;
  int failed = 0;
  ssize_t size = 0;
  do {
    size = ::recv(socket.get(), bytes.data(), bytes.size(), 0);
    if (size < 0) return system_error(kName, errno);
  } while (size > 0 && add_messages(bytes.data(), static_cast<std::size_t>(size), out, failed) && out.size() < kMaxBytes);
  return failed == 0 ? Result<void>() : system_error(kName, failed);
}

}  // namespace memstat

#endif
