// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/http_client.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "config/values.h"
#include "core/base/text.h"
#include "daemon/http/sockets.h"

namespace memstat {
namespace {

using SteadyClock = std::chrono::steady_clock;

bool wait_for(int descriptor, short events, SteadyClock::time_point until) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - SteadyClock::now()).count();
    if (left <= 0) return false;
    pollfd ready{descriptor, events, 0};
    const int count = ::poll(&ready, 1, static_cast<int>(left));
    if (count > 0) return true;
    if (count < 0 && errno != EINTR) return false;
  }
}

}  // namespace

std::optional<std::string> HttpAnswer::header(std::string_view name) const {
  std::string_view rest = head;
  std::string_view line;
  while (next_line(rest, line)) {
    const std::size_t colon = line.find(':');
    if (colon == name.size() && ::strncasecmp(line.data(), name.data(), name.size()) == 0) {
      std::string_view value = line.substr(colon + 1);
      while (!value.empty() && (value.back() == '\r' || value.back() == ' ')) value.remove_suffix(1);
      while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
      return std::string(value);
    }
  }
  return {};
}

HttpClient::HttpClient(std::string_view address, Milliseconds deadline, int receive_buffer) : deadline_(deadline) {
  const auto endpoint = parse_listen_address(address);
  if (!endpoint) return;
  const SocketAddress peer(*endpoint);
  descriptor_ = ::socket(peer.get()->sa_family, SOCK_STREAM, 0);
  if (descriptor_ < 0) return;
  const int on = 1;
  ::setsockopt(descriptor_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (receive_buffer > 0) ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
  if (::connect(descriptor_, peer.get(), peer.length) != 0) {
    ::close(descriptor_);
    descriptor_ = -1;
  }
}

HttpClient::~HttpClient() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

HttpClient::HttpClient(HttpClient&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), deadline_(other.deadline_), received_(std::move(other.received_)) {}

bool HttpClient::send(std::string_view bytes) {
  const auto until = SteadyClock::now() + deadline_;
  while (!bytes.empty()) {
    const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN || errno == EINTR) {
      if (!wait_for(descriptor_, POLLOUT, until)) return false;
    } else {
      return false;
    }
  }
  return true;
}

void HttpClient::reset_on_close() {
  const linger now{1, 0};
  ::setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

bool HttpClient::wait_for_bytes() const { return wait_for(descriptor_, POLLIN, Clock::now() + deadline_); }

bool HttpClient::wait_for_end() const { return wait_for(descriptor_, 0, Clock::now() + deadline_); }

void HttpClient::finish_sending() { ::shutdown(descriptor_, SHUT_WR); }

HttpClient::Read HttpClient::read_some(Clock::time_point until) {
  if (descriptor_ < 0) return Read::kEnd;
  if (!wait_for(descriptor_, POLLIN, until)) return Read::kLate;
  std::array<char, 65536> bytes;
  const ssize_t got = ::recv(descriptor_, bytes.data(), bytes.size(), 0);
  if (got < 0 && errno == EINTR) return Read::kBytes;
  if (got <= 0) return Read::kEnd;
  received_.append(bytes.data(), static_cast<std::size_t>(got));
  return Read::kBytes;
}

std::optional<HttpAnswer> HttpClient::read_answer(bool without_body) {
  const auto until = Clock::now() + deadline_;
  std::size_t end = 0;
  while ((end = received_.find("\r\n\r\n")) == std::string::npos) {
    if (read_some(until) != Read::kBytes) return {};
  }
  HttpAnswer answer;
  answer.head = received_.substr(0, end + 2);
  if (!answer.head.starts_with("HTTP/1.") || answer.head.size() < 12) return {};
  answer.status = std::atoi(answer.head.c_str() + 9);
  const auto length = parse_u64(answer.header("Content-Length").value_or("0"));
  if (!length) return {};
  const std::size_t body_bytes = without_body ? 0 : static_cast<std::size_t>(*length);
  while (received_.size() < end + 4 + body_bytes) {
    if (read_some(until) != Read::kBytes) return {};
  }
  answer.body = received_.substr(end + 4, body_bytes);
  received_.erase(0, end + 4 + body_bytes);
  return answer;
}

std::optional<HttpAnswer> HttpClient::request(std::string_view method, std::string_view target, std::string_view extra) {
  std::string text(method);
  text.append(" ").append(target).append(" HTTP/1.1\r\nHost: localhost\r\n").append(extra).append("\r\n");
  if (!send(text)) return {};
  return read_answer(method == "HEAD");
}

std::optional<std::string> HttpClient::read_to_end() {
  const auto until = Clock::now() + deadline_;
  for (;;) {
    const Read read = read_some(until);
    if (read == Read::kLate) return {};
    if (read == Read::kEnd) return std::exchange(received_, {});
  }
}

}  // namespace memstat
