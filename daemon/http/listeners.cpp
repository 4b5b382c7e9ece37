// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/http/listeners.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "daemon/http/access_list.h"

namespace memstat {
namespace {

constexpr std::size_t kMaxAddresses = 64;
// The kernel takes the smaller of this and its own limit (net.core.somaxconn, kern.ipc.soacceptqueue).
constexpr int kBacklog = 4096;

Error bind_error(Endpoint endpoint, int system_errno) {
  std::string_view advice = "cannot listen";
  if (system_errno == EADDRINUSE) {
    advice =
        "cannot listen; stop the program that uses this address (ss -ltnp or sockstat -4l names it) or choose another port";
  } else if (system_errno == EADDRNOTAVAIL) {
    advice = "cannot listen; no interface of this host has this address";
  } else if (system_errno == EACCES) {
    advice = "cannot listen; a port below 1024 needs root: start memstatd as root or choose a higher one";
  }
  return system_error(format_endpoint(endpoint), system_errno, advice);
}

// 0, or the errno. Sets the real port.
int open_listener(Endpoint& endpoint, std::vector<int>& descriptors) {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return errno;
  descriptors.push_back(descriptor);
  const int on = 1;
  ::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // inherited by the connections that it accepts
  sockaddr_in address = to_sockaddr(endpoint);
  socklen_t length = sizeof address;
  if (::bind(descriptor, reinterpret_cast<const sockaddr*>(&address), length) != 0 || ::listen(descriptor, kBacklog) != 0 ||
      ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    return errno;
  }
  endpoint.port = ntohs(address.sin_port);
  return 0;
}

void close_all(std::vector<int>& descriptors) {
  for (const int descriptor : descriptors) ::close(descriptor);
  descriptors.clear();
}

}  // namespace

SpareFiles::~SpareFiles() { close_all(descriptors_); }

SpareFiles& SpareFiles::operator=(SpareFiles&& other) noexcept {
  std::swap(descriptors_, other.descriptors_);
  return *this;
}

void SpareFiles::fill() {
  descriptors_.reserve(kCount);
  while (!full()) {
    // A pipe needs no path and no right, so it can be had behind the sandbox, too.
    int ends[2];
    if (::pipe(ends) != 0) return;
    for (const int end : ends) {
      ::fcntl(end, F_SETFD, FD_CLOEXEC);
      descriptors_.push_back(end);
    }
  }
}

bool SpareFiles::give() {
  if (descriptors_.empty()) return false;
  ::close(descriptors_.back());
  descriptors_.pop_back();
  return true;
}

Result<HttpListeners> HttpListeners::open(std::vector<Endpoint> endpoints) {
  if (endpoints.empty()) return option_error("listen", "", "no address; write one as 127.0.0.1:8947");
  if (endpoints.size() > kMaxAddresses) return option_error("listen", "", "more than 64 addresses");
  HttpListeners listeners;
  listeners.endpoints_ = std::move(endpoints);
  for (Endpoint& endpoint : listeners.endpoints_) {
    const Endpoint wanted = endpoint;
    if (const int status = open_listener(endpoint, listeners.descriptors_); status != 0) return bind_error(wanted, status);
  }
  listeners.spare_.fill();
  return listeners;
}

HttpListeners::HttpListeners(HttpListeners&& other) noexcept
    : endpoints_(std::move(other.endpoints_)),
      descriptors_(std::exchange(other.descriptors_, {})),
      spare_(std::move(other.spare_)) {}

HttpListeners& HttpListeners::operator=(HttpListeners&& other) noexcept {
  std::swap(endpoints_, other.endpoints_);
  std::swap(descriptors_, other.descriptors_);
  spare_ = std::move(other.spare_);
  return *this;
}

void HttpListeners::close() { close_all(descriptors_); }

}  // namespace memstat
