// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/http_sockets.h"

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
#include "daemon/access_list.h"

namespace memstat {
namespace {

using Clock = std::chrono::steady_clock;

// No descriptor of this daemon gets near it; it bounds the search for one that is not there.
constexpr int kHighestDescriptor = 65536;
constexpr std::size_t kLargestWrite = 64 * 1024;
constexpr std::size_t kPiecesPerWrite = 16;
constexpr std::size_t kDrainBytes = 64 * 1024;
constexpr std::chrono::milliseconds kDrainTime{200};

sockaddr_in to_sockaddr(Endpoint endpoint) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(endpoint.address);
  address.sin_port = htons(endpoint.port);
  return address;
}

std::optional<Endpoint> name_of(int descriptor, decltype(::getsockname)* get) {
  sockaddr_in address{};
  socklen_t length = sizeof address;
  if (get(descriptor, reinterpret_cast<sockaddr*>(&address), &length) != 0) return {};
  if (length < sizeof address || address.sin_family != AF_INET) return {};
  return Endpoint{ntohl(address.sin_addr.s_addr), ntohs(address.sin_port)};
}

int descriptor_limit() {
  const long open_max = ::sysconf(_SC_OPEN_MAX);
  return open_max > 0 && open_max < kHighestDescriptor ? static_cast<int>(open_max) : kHighestDescriptor;
}

int milliseconds_until(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

// Closes the probes whatever way the function that owns them ends.
struct Probes {
  std::vector<int> descriptors;
  ~Probes() {
    for (const int descriptor : descriptors) ::close(descriptor);
  }
};

Error bind_error(Endpoint endpoint, int system_errno) {
  std::string_view advice = "cannot listen";
  if (system_errno == EADDRINUSE) {
    advice =
        "cannot listen; stop the program that has this address (ss -ltnp or sockstat -4l names it) or choose another port";
  } else if (system_errno == EADDRNOTAVAIL) {
    advice = "cannot listen; no interface of this host has this address";
  } else if (system_errno == EACCES) {
    advice = "cannot listen; a port below 1024 needs a privilege that the daemon has given up: choose a higher one";
  }
  return system_error(format_endpoint(endpoint), system_errno, advice);
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

Result<void> probe_endpoints(std::span<const Endpoint> endpoints) {
  Probes probes;
  for (const Endpoint endpoint : endpoints) {
    const int descriptor = ::socket(AF_INET, SOCK_STREAM, 0);
    if (descriptor < 0) return bind_error(endpoint, errno);
    probes.descriptors.push_back(descriptor);
    const int on = 1;
    ::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const sockaddr_in address = to_sockaddr(endpoint);
    if (::bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(descriptor, 1) != 0) {
      return bind_error(endpoint, errno);
    }
  }
  return {};
}

std::optional<Connected> find_connection(Endpoint peer, std::uint16_t local_port) {
  const int limit = descriptor_limit();
  for (int descriptor = 0; descriptor < limit; ++descriptor) {
    if (name_of(descriptor, ::getpeername) != peer) continue;
    const auto local = name_of(descriptor, ::getsockname);
    if (local && local->port == local_port) return Connected{descriptor, *local};
  }
  return {};
}

std::vector<int> find_descriptors_of(std::span<const Endpoint> listeners) {
  std::vector<int> found;
  const int limit = descriptor_limit();
  for (int descriptor = 0; descriptor < limit; ++descriptor) {
    const auto local = name_of(descriptor, ::getsockname);
    if (local &&
        std::any_of(listeners.begin(), listeners.end(), [&](Endpoint listener) { return came_through(*local, listener); })) {
      found.push_back(descriptor);
    }
  }
  return found;
}

bool send_all(int descriptor, std::span<const std::string_view> pieces, const Sending& sending) {
  std::size_t piece = 0;   // the first piece not yet sent whole
  std::size_t offset = 0;  // how much of it is sent
  bool stalled = false;
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
      if (piece < pieces.size() && Clock::now() >= sending.deadline) return false;
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return false;
    if (!stalled && sending.on_stall) sending.on_stall(true);
    stalled = true;
    const int wait = milliseconds_until(sending.deadline);
    pollfd writable{descriptor, POLLOUT, 0};
    if (wait == 0 || (::poll(&writable, 1, wait) < 0 && errno != EINTR)) return false;
  }
}

void discard_on_close(int descriptor) {
  const linger now{1, 0};
  ::setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

void finish_refusal(int descriptor) {
  ::shutdown(descriptor, SHUT_WR);
  const auto deadline = Clock::now() + kDrainTime;
  std::array<char, 4096> dropped;
  for (std::size_t total = 0; total < kDrainBytes;) {
    const ssize_t got = ::recv(descriptor, dropped.data(), dropped.size(), MSG_DONTWAIT);
    if (got == 0) return;
    if (got > 0) {
      total += static_cast<std::size_t>(got);
      continue;
    }
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) return;
    const int wait = milliseconds_until(deadline);
    pollfd readable{descriptor, POLLIN, 0};
    if (wait == 0 || ::poll(&readable, 1, wait) < 0) return;
  }
}

bool has_unread_bytes(int descriptor) {
  char byte;
  return ::recv(descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

}  // namespace memstat
