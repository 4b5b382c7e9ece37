// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/http/sockets.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "core/base/text.h"
#include "daemon/http/access_list.h"

namespace memstat {
namespace {

constexpr std::size_t kLargestWrite = 64 * 1024;
constexpr std::size_t kPiecesPerWrite = 16;
constexpr int kSendBuffer = 256 * 1024;
constexpr std::size_t kDrainBytes = 64 * 1024;
constexpr std::chrono::milliseconds kDrainTime{200};

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

Result<Endpoint> parse_endpoint(std::string_view text) {
  const auto wrong = [&](std::string_view why) { return option_error("listen", text, why); };
  if (text.find('[') != std::string_view::npos) {
    return wrong("the HTTP server has no IPv6; listen on IPv4 and let a reverse proxy serve IPv6");
  }
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return wrong("no port; write it as 127.0.0.1:8947");
  const auto port = parse_u64(text.substr(colon + 1));
  if (!port || *port > 65535) return wrong("the port is not a number from 0 to 65535; write it as 127.0.0.1:8947");
  const std::string_view host = text.substr(0, colon);
  const auto address = host == "localhost" ? parse_ipv4("127.0.0.1") : parse_ipv4(host);
  if (!address) return wrong("not an IPv4 address; write it as 127.0.0.1:8947, or 0.0.0.0:8947 for all interfaces");
  return Endpoint{*address, static_cast<std::uint16_t>(*port)};
}

std::string format_endpoint(Endpoint endpoint) {
  return format_ipv4(endpoint.address) + ":" + std::to_string(endpoint.port);
}

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
    pollfd writable{descriptor, POLLOUT, 0};
    if (wait == 0 || (::poll(&writable, 1, wait) < 0 && errno != EINTR)) return false;
  }
}

void discard_on_close(int descriptor) {
  const linger now{1, 0};
  ::setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

void finish_refusal(int descriptor, const Clock& clock) {
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
