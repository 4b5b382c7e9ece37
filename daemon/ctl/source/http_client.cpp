// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/source/http_client.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
#include <system_error>
#include <vector>

#include "core/base/clock.h"
#include "core/base/unique_fd.h"

namespace memstat::ctl {
namespace {

std::string message_of(int error) { return std::generic_category().message(error); }

/// 0 once the socket is ready for `events`, else an errno.
int wait_for(int fd, short events, TimePoint deadline) {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - system_clock().now()).count();
    if (left <= 0) return ETIMEDOUT;
    pollfd entry{.fd = fd, .events = events, .revents = 0};
    const int ready = ::poll(&entry, 1, static_cast<int>(left));
    if (ready > 0) return 0;
    if (ready < 0 && errno != EINTR) return errno;
  }
}

/// 0 or an errno.
int connect_to(const UniqueFd& socket, const addrinfo& address, TimePoint deadline) {
  if (socket.get() < 0) return errno;
  ::fcntl(socket.get(), F_SETFD, FD_CLOEXEC);
  const int flags = ::fcntl(socket.get(), F_GETFL);
  if (flags < 0 || ::fcntl(socket.get(), F_SETFL, flags | O_NONBLOCK) != 0) return errno;
  int status = 0;
  while ((status = ::connect(socket.get(), address.ai_addr, address.ai_addrlen)) != 0 && errno == EAGAIN) {
    if (system_clock().now() >= deadline) return ETIMEDOUT;
    ::poll(nullptr, 0, 10);  // the queue of a unix socket is full
  }
  if (status == 0) return 0;
  if (errno != EINPROGRESS && errno != EINTR) return errno;
  if (const int error = wait_for(socket.get(), POLLOUT, deadline); error != 0) return error;
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

int send_all(const UniqueFd& socket, std::string_view bytes, TimePoint deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (const int error = wait_for(socket.get(), POLLOUT, deadline); error != 0) return error;
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

int receive(const UniqueFd& socket, HttpAnswerReader& reader, TimePoint deadline) {
  std::vector<char> room(64 * 1024);
  while (true) {
    if (const int error = wait_for(socket.get(), POLLIN, deadline); error != 0) return error;
    const ssize_t size = ::recv(socket.get(), room.data(), room.size(), 0);
    if (size == 0) {
      reader.finish();
      return 0;
    }
    if (size > 0) {
      if (!reader.add({room.data(), static_cast<std::size_t>(size)})) return 0;
    } else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
      return errno;
    }
  }
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    unsigned group = 0;
    for (std::size_t j = i; j < i + 3; ++j)
      group = group << 8U | (j < bytes.size() ? static_cast<unsigned char>(bytes[j]) : 0U);
    for (std::size_t j = 0; j < 4; ++j) text += i + j <= bytes.size() ? kDigits[group >> (18 - 6 * j) & 63U] : '=';
  }
  return text;
}

std::string request_of(const HttpUrl& url, std::string_view path, std::string_view etag) {
  const bool is_ipv6 = url.host.find(':') != std::string::npos;
  std::string text = "GET " + url.prefix;
  text.append(path).append(" HTTP/1.1\r\nHost: ");
  text += (is_ipv6 ? "[" + url.host + "]" : url.host) + ":" + url.port;
  text += "\r\nAccept: application/json\r\nAccept-Encoding: identity\r\nConnection: close\r\nUser-Agent: memstatctl\r\n";
  if (!url.user.empty()) text += "Authorization: Basic " + base64(url.user) + "\r\n";
  if (!etag.empty()) text.append("If-None-Match: ").append(etag).append("\r\n");
  return text + "\r\n";
}

std::string hint_of(int error) {
  if (error == ECONNREFUSED) return "; does memstatd run there, and does it listen on this address?";
  if (error == ENOENT) return "; does memstatd run, and is the path in its key listen?";
  if (error == EACCES) return "; the keys unix_socket.mode and unix_socket.group of memstatd.yaml say who may connect";
  if (error == ETIMEDOUT) return "; is the address right, and does a firewall let it through?";
  return {};
}

}  // namespace

HttpResult http_get(const HttpUrl& url, std::string_view path, std::string_view etag) {
  const auto refuse = [&](const std::string& why) { return HttpResult{.answer = {}, .problem = url.for_logs + ": " + why}; };
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  sockaddr_un file{};
  addrinfo unix_socket{};
  if (!url.socket.empty()) {
    file.sun_family = AF_UNIX;
    url.socket.copy(file.sun_path, sizeof file.sun_path - 1);
    unix_socket.ai_family = AF_UNIX;
    unix_socket.ai_socktype = SOCK_STREAM;
    unix_socket.ai_addr = reinterpret_cast<sockaddr*>(&file);
    unix_socket.ai_addrlen = sizeof file;
  } else if (const int error = ::getaddrinfo(url.host.c_str(), url.port.c_str(), &hints, &found); error != 0) {
    return refuse(std::string("there is no such host: ") + ::gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, ::freeaddrinfo);
  const TimePoint deadline = system_clock().now() + std::chrono::seconds(kHttpSeconds);
  int error = EADDRNOTAVAIL;
  for (const addrinfo* address = found == nullptr ? &unix_socket : found; address != nullptr; address = address->ai_next) {
    const UniqueFd socket(::socket(address->ai_family, address->ai_socktype, address->ai_protocol));
    error =
        connect_to(socket, *address, std::min(deadline, system_clock().now() + std::chrono::seconds(kHttpConnectSeconds)));
    if (error != 0) continue;
    if (error = send_all(socket, request_of(url, path, etag), deadline); error != 0) break;
    HttpAnswerReader reader;
    error = receive(socket, reader, deadline);
    if (error == ETIMEDOUT) return refuse("no whole answer within " + std::to_string(kHttpSeconds) + " s");
    if (error != 0) break;
    if (!reader.problem().empty()) return refuse(reader.problem() + "; is this a memstatd?");
    return {.answer = reader.take(), .problem = {}};
  }
  return refuse(message_of(error) + hint_of(error));
}

}  // namespace memstat::ctl
