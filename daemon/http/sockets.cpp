// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/http/sockets.h"

#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "core/base/socket_write.h"

namespace memstat {
namespace {

constexpr std::size_t kBytesPerTurn = 1024 * 1024;
constexpr std::size_t kPiecesPerWrite = 16;
constexpr int kSmallSendBuffer = 16 * 1024;
constexpr std::uint32_t kSmallWindow = 8192;

/// Keeps a socket from sending a segment for each small write until the end of the scope. Does nothing where writes are
/// not small, and to sockets other than TCP.
class HeldSegments {
 public:
  HeldSegments(int descriptor, std::size_t bytes) : descriptor_(bytes > kMaxSocketWrite ? descriptor : -1) { hold(1); }
  ~HeldSegments() { hold(0); }
  HeldSegments(const HeldSegments&) = delete;
  HeldSegments& operator=(const HeldSegments&) = delete;

 private:
  void hold([[maybe_unused]] int on) const {
#if defined(TCP_NOPUSH)
    if (descriptor_ >= 0) ::setsockopt(descriptor_, IPPROTO_TCP, TCP_NOPUSH, &on, sizeof on);
#endif
  }
  [[maybe_unused]] const int descriptor_;
};

}  // namespace

SocketAddress::SocketAddress(const Endpoint& endpoint) {
  if (endpoint.is_unix()) {
    unix_.sun_family = AF_UNIX;
    endpoint.path.copy(unix_.sun_path, sizeof unix_.sun_path - 1);
    length = sizeof unix_;
  } else if (endpoint.address.is_v4()) {
    v4_.sin_family = AF_INET;
    v4_.sin_port = htons(endpoint.port);
    std::memcpy(&v4_.sin_addr, &endpoint.address.bytes[12], sizeof v4_.sin_addr);
    length = sizeof v4_;
  } else {
    v6_.sin6_family = AF_INET6;
    v6_.sin6_port = htons(endpoint.port);
    std::memcpy(&v6_.sin6_addr, endpoint.address.bytes.data(), sizeof v6_.sin6_addr);
    length = sizeof v6_;
  }
}

Endpoint SocketAddress::endpoint() const {
  Endpoint endpoint;
  if (any_.sa_family == AF_INET) {
    endpoint.address = IpAddress::v4(ntohl(v4_.sin_addr.s_addr));
    endpoint.port = ntohs(v4_.sin_port);
  } else if (any_.sa_family == AF_INET6) {
    std::memcpy(endpoint.address.bytes.data(), &v6_.sin6_addr, sizeof v6_.sin6_addr);
    endpoint.port = ntohs(v6_.sin6_port);
  }
  return endpoint;
}

void Outgoing::clear() {
  pieces_.clear();
  piece_ = offset_ = left_ = 0;
}

void Outgoing::add(std::string_view piece) {
  if (piece.empty()) return;
  pieces_.push_back(piece);
  left_ += piece.size();
}

Outgoing::Status Outgoing::send(int descriptor) {
  std::size_t turn = 0;
  const HeldSegments held(descriptor, left_);
  while (left_ != 0) {
    if (turn >= kBytesPerTurn) return Status::kMore;
    std::array<iovec, kPiecesPerWrite> parts;
    std::size_t part_count = 0;
    std::size_t bytes = 0;
    for (std::size_t i = piece_, skip = offset_; i < pieces_.size() && part_count < parts.size() && bytes < kMaxSocketWrite;
         ++i, skip = 0) {
      const std::size_t size = std::min(pieces_[i].size() - skip, kMaxSocketWrite - bytes);
      parts[part_count++] = {const_cast<char*>(pieces_[i].data() + skip), size};  // iovec has no const; sendmsg only reads
      bytes += size;
    }
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = part_count;
    const ssize_t sent = ::sendmsg(descriptor, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno == EINTR) continue;
      return errno == EAGAIN || errno == EWOULDBLOCK ? Status::kMore : Status::kFailed;
    }
    auto more = static_cast<std::size_t>(sent);
    turn += more;
    left_ -= more;
    while (piece_ < pieces_.size() && more >= pieces_[piece_].size() - offset_) {
      more -= pieces_[piece_++].size() - offset_;
      offset_ = 0;
    }
    offset_ += more;
  }
  return Status::kDone;
}

IpAddress peer_process(int descriptor) {
#if defined(__linux__)
  ucred peer{};
  socklen_t length = sizeof peer;
  ::getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &length);
  const std::array<std::uint32_t, 2> numbers{static_cast<std::uint32_t>(peer.uid), static_cast<std::uint32_t>(peer.pid)};
#else
  uid_t user = 0;
  gid_t group = 0;
  ::getpeereid(descriptor, &user, &group);
  const std::array<std::uint32_t, 2> numbers{static_cast<std::uint32_t>(user), 0};
#endif
  IpAddress address;
  std::memcpy(address.bytes.data(), numbers.data(), sizeof numbers);
  return address;
}

void use_small_send_buffer(int descriptor) {
  ::setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &kSmallSendBuffer, sizeof kSmallSendBuffer);
}

void reset_on_close(int descriptor) {
  const linger now{1, 0};
  ::setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

bool has_small_window(int descriptor) {
  std::uint32_t window = 0;
#if defined(__linux__)
  // tcpi_snd_wnd (Linux 5.4). The C library's struct ends before it, and <linux/tcp.h> conflicts with <netinet/tcp.h>.
  constexpr std::size_t kWindow = 228;
  std::array<char, kWindow + sizeof window> info{};
  socklen_t length = info.size();
  if (::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, info.data(), &length) != 0 || length < info.size()) return false;
  std::memcpy(&window, info.data() + kWindow, sizeof window);
#else
  tcp_info info{};
  socklen_t length = sizeof info;
  if (::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return false;
  window = info.tcpi_snd_wnd;
#endif
  return window < kSmallWindow;
}

std::size_t unacknowledged_bytes(int descriptor) {
#if defined(FIONWRITE)
  constexpr unsigned long kRequest = FIONWRITE;
#else
  constexpr unsigned long kRequest = TIOCOUTQ;  // Linux names it SIOCOUTQ for sockets
#endif
  int bytes = 0;
  return ::ioctl(descriptor, kRequest, &bytes) == 0 && bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
}

}  // namespace memstat
