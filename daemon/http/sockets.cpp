// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/http/sockets.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>

namespace memstat {
namespace {

constexpr std::size_t kLargestWrite = 64 * 1024;
constexpr std::size_t kPiecesPerWrite = 16;
constexpr int kSendBuffer = 256 * 1024;
constexpr std::size_t kDrainBytes = 64 * 1024;
constexpr std::chrono::milliseconds kDrainTime{200};
constexpr int kShortestPauseMs = 2;
constexpr int kLongestPauseMs = 100;

int milliseconds_until(TimePoint deadline, const Clock& clock) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock.now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

// The most that this kernel gives by default; where its buffers are larger already nothing is changed.
void enlarge_send_buffer(int descriptor) {
  int size = 0;
  socklen_t length = sizeof size;
  if (::getsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &size, &length) != 0 || size >= kSendBuffer) return;
  ::setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &kSendBuffer, sizeof kSendBuffer);
}

}  // namespace

sockaddr_in to_sockaddr(Endpoint endpoint) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(endpoint.address);
  address.sin_port = htons(endpoint.port);
  return address;
}

bool send_all(int descriptor, std::span<const std::string_view> pieces, const Sending& sending) {
  std::size_t piece = 0;   // the first piece not yet sent whole
  std::size_t offset = 0;  // how much of it is sent
  bool stalled = false;
  bool enlarged = false;
  int pause_ms = 0;  // above 0: poll says that the socket can be written, and the kernel takes nothing all the same
  for (;;) {
    std::array<iovec, kPiecesPerWrite> parts;
    std::size_t part_count = 0;
    std::size_t bytes = 0;
    for (std::size_t i = piece, skip = offset; i < pieces.size() && part_count < parts.size() && bytes < kLargestWrite;
         ++i, skip = 0) {
      const std::size_t size = std::min(pieces[i].size() - skip, kLargestWrite - bytes);
      if (size == 0) continue;
      parts[part_count++] = {const_cast<char*>(pieces[i].data() + skip), size};  // iovec has no const; sendmsg only reads
      bytes += size;
    }
    if (part_count == 0) return true;
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = part_count;
    const ssize_t sent = ::sendmsg(descriptor, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      if (stalled && sending.on_stall) sending.on_stall(false);
      stalled = false;
      pause_ms = 0;
      auto left = static_cast<std::size_t>(sent);
      while (piece < pieces.size() && left >= pieces[piece].size() - offset) {
        left -= pieces[piece++].size() - offset;
        offset = 0;
      }
      offset += left;
      // A client that takes a little at a time is held to the same deadline as one that takes nothing.
      if (piece < pieces.size() && sending.clock.now() >= sending.deadline) return false;
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return false;
    if (!enlarged) {
      enlarged = true;
      enlarge_send_buffer(descriptor);
      continue;
    }
    if (!stalled && sending.on_stall) sending.on_stall(true);
    stalled = true;
    const int wait = milliseconds_until(sending.deadline, sending.clock);
    if (wait == 0) return false;
    // When the memory of all sockets is used up the kernel refuses what poll promises: then only time helps.
    pollfd writable{descriptor, static_cast<short>(pause_ms == 0 ? POLLOUT : 0), 0};
    const int ready = ::poll(&writable, 1, pause_ms == 0 ? wait : std::min(wait, pause_ms));
    if (ready < 0 && errno != EINTR) return false;
    if (ready > 0 || pause_ms != 0) pause_ms = std::clamp(pause_ms * 2, kShortestPauseMs, kLongestPauseMs);
  }
}

std::size_t untaken_bytes(int descriptor) {
#if defined(FIONWRITE)
  constexpr unsigned long kRequest = FIONWRITE;
#else
  constexpr unsigned long kRequest = TIOCOUTQ;  // which Linux names SIOCOUTQ for sockets
#endif
  int bytes = 0;
  if (::ioctl(descriptor, kRequest, &bytes) != 0 || bytes <= 0) return 0;
  // The count of a connection that was reset stays as it was; only that one has no peer.
  sockaddr_in peer{};
  socklen_t length = sizeof peer;
  const bool gone = ::getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &length) != 0 && errno == ENOTCONN;
  return gone ? 0 : static_cast<std::size_t>(bytes);
}

#if !defined(__linux__)  // for which see client_window_linux.cpp
std::size_t window_of_client(int descriptor) {
  tcp_info info{};
  socklen_t length = sizeof info;
  const bool is_told = ::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &length) == 0;
  return is_told ? info.tcpi_snd_wnd : std::numeric_limits<std::size_t>::max();
}
#endif

void reset_on_close(int descriptor) {
  const linger now{1, 0};
  ::setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

void lingering_close(int descriptor, const Clock& clock) {
  ::shutdown(descriptor, SHUT_WR);
  const TimePoint deadline = clock.now() + kDrainTime;
  std::array<char, 4096> dropped;
  for (std::size_t total = 0; total < kDrainBytes;) {
    const ssize_t got = ::recv(descriptor, dropped.data(), dropped.size(), MSG_DONTWAIT);
    if (got == 0) return;
    if (got > 0) {
      total += static_cast<std::size_t>(got);
      continue;
    }
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) return;
    const int wait = milliseconds_until(deadline, clock);
    pollfd readable{descriptor, POLLIN, 0};
    if (wait == 0 || ::poll(&readable, 1, wait) < 0) return;
  }
}

void refuse_now(int descriptor, std::string_view answer) {
  (void)::send(descriptor, answer.data(), answer.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  ::shutdown(descriptor, SHUT_WR);
  std::array<char, 4096> dropped;
  for (std::size_t total = 0; total < kDrainBytes;) {
    const ssize_t got = ::recv(descriptor, dropped.data(), dropped.size(), MSG_DONTWAIT);
    if (got <= 0) return;
    total += static_cast<std::size_t>(got);
  }
}

void report_from(int descriptor, int bytes) { ::setsockopt(descriptor, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof bytes); }

bool has_unread_bytes(int descriptor) {
  char byte;
  return ::recv(descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

}  // namespace memstat
