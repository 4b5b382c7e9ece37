// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/source/http_client.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <system_error>
#include <vector>

#include "core/base/ascii.h"
#include "core/base/clock.h"
#include "core/base/socket_write.h"
#include "core/base/text.h"
#include "core/base/unique_fd.h"

namespace memstat::ctl {
namespace {

constexpr std::chrono::milliseconds kStep(100);  // of the line that it waits
std::atomic<bool> is_waiting_hidden = false;
std::atomic_flag is_line_taken;

constexpr const char* kTooLarge = "the answer is larger than 64 MiB";
constexpr const char* kCutShort = "the connection ended in the middle of the answer";

/// The relevant header lines.
struct Head {
  std::size_t size = 0;  ///< Including the empty line; 0: incomplete.
  int status = 0;
  std::string etag;
  std::string location = {};
  std::optional<std::size_t> length = {};  ///< Of the body; empty: it ends with the connection.
};

/// Parses the beginning of an answer, which may be incomplete. Returns "" or an error.
std::string read_head(std::string_view bytes, Head& head) {
  constexpr std::string_view kVersion = "HTTP/1.";
  if (!kVersion.starts_with(bytes.substr(0, kVersion.size()))) return "the answer is not HTTP";
  const std::size_t end = bytes.find("\r\n\r\n");
  if (std::min(end, bytes.size()) > kMaxHttpHead) return "the answer's header is larger than 64 KiB";
  if (end == std::string_view::npos) return {};
  std::string_view rest = bytes.substr(0, end);
  std::string_view line;
  next_line(rest, line);
  const auto status = line.size() < 12 || line[8] != ' ' ? std::nullopt : parse_u64(line.substr(9, 3));
  if (!status) return "the answer has no status";
  head.status = static_cast<int>(*status);
  while (next_line(rest, line)) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return "the answer has a header line without a colon";
    const std::string_view value = trim(line.substr(colon + 1));
    const auto is_named = [name = line.substr(0, colon)](std::string_view wanted) {
      return equals_ignoring_case(name, wanted);
    };
    const bool is_plain = equals_ignoring_case(value, "identity");
    if (is_named("etag")) head.etag = value;
    if (is_named("location")) head.location = value;
    if (is_named("content-encoding") && !is_plain) return "the answer is compressed, although that was not requested";
    if (is_named("transfer-encoding") && !is_plain) return "the answer has a transfer coding that was not requested";
    if (!is_named("content-length")) continue;
    const auto length = parse_u64(value);
    if (!length) return "the answer has no valid size";
    if (*length > kMaxHttpBody) return kTooLarge;
    head.length = *length;
  }
  if (head.status == 304 || head.status == 204) head.length = 0;
  head.size = end + 4;
  return {};
}

/// Waits until the socket is ready for `events`. Returns 0 or an errno.
int wait_for(int fd, short events, TimePoint deadline, WaitingLine& line) {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - system_clock().now());
    if (left.count() <= 0) return ETIMEDOUT;
    pollfd entry{.fd = fd, .events = events, .revents = 0};
    const int ready = ::poll(&entry, 1, static_cast<int>(std::min(left, kStep).count()));
    if (ready > 0) return 0;
    if (ready < 0 && errno != EINTR) return errno;
    line.update();
  }
}

/// Returns 0 or an errno.
int connect_to(const UniqueFd& socket, const addrinfo& address, TimePoint deadline, WaitingLine& line) {
  if (socket.get() < 0) return errno;
  int status = 0;
  while ((status = ::connect(socket.get(), address.ai_addr, address.ai_addrlen)) != 0 && errno == EAGAIN) {
    if (system_clock().now() >= deadline) return ETIMEDOUT;
    ::poll(nullptr, 0, 10);  // the queue of a unix socket is full
    line.update();
  }
  if (status == 0) return 0;
  if (errno != EINPROGRESS && errno != EINTR) return errno;
  if (const int error = wait_for(socket.get(), POLLOUT, deadline, line); error != 0) return error;
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

/// Sends the request and receives the answer, up to its end or the maximum size. Returns 0 or an errno.
int exchange(int socket, std::string_view request, TimePoint deadline, WaitingLine& line, std::string& bytes) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // the request may be several writes
  while (!request.empty()) {
    if (const int error = wait_for(socket, POLLOUT, deadline, line); error != 0) return error;
    const ssize_t sent = ::send(socket, request.data(), std::min(request.size(), kMaxSocketWrite), MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) return errno;
    request.remove_prefix(sent < 0 ? 0 : static_cast<std::size_t>(sent));
  }
  std::vector<char> room(64 * 1024);
  Head head;
  while (true) {
    if (const int error = wait_for(socket, POLLIN, deadline, line); error != 0) return error;
    const ssize_t size = ::recv(socket, room.data(), room.size(), 0);
    if (size == 0) return 0;
    if (size < 0 && errno != EAGAIN && errno != EINTR) return errno;
    bytes.append(room.data(), size < 0 ? 0 : static_cast<std::size_t>(size));
    if (head.size == 0 && !read_head(bytes, head).empty()) return 0;
    const bool is_whole = head.size != 0 && head.length && bytes.size() - head.size >= *head.length;
    if (is_whole || bytes.size() > kMaxHttpHead + kMaxHttpBody) return 0;
  }
}

std::string request_of(const HttpUrl& url, std::string_view path, std::string_view etag) {
  std::string text = "GET " + url.prefix;
  text.append(path).append(" HTTP/1.0\r\nHost: ").append(url.authority);
  text += "\r\nAccept: application/json\r\nAccept-Encoding: identity\r\nConnection: close\r\nUser-Agent: memstatctl\r\n";
  if (!url.credentials.empty()) text += "Authorization: Basic " + url.credentials + "\r\n";
  if (!etag.empty()) text.append("If-None-Match: ").append(etag).append("\r\n");
  for (const std::string& header : url.headers) text += header + "\r\n";
  return text + "\r\n";
}

std::string words_of_errno(int error, const HttpUrl& url) {
  std::string hint;
  if (error == ECONNREFUSED) {
    hint = "; does " + std::string(url.server) + " run there, and does it listen on this address?";
  }
  if (error == ENOENT) hint = "; does memstatd run, and is the path in its key listen?";
  if (error == EACCES) hint = "; the keys unix_socket.mode and unix_socket.group of memstatd.yaml say who may connect";
  if (error == ETIMEDOUT) hint = "; is the address right, and does a firewall let it through?";
  return std::generic_category().message(error) + hint;
}

/// Receives the answer to a GET without TLS. Returns "" or an error.
std::string plain_get(const HttpUrl& url, const std::string& request, TimePoint deadline, std::string& bytes) {
  addrinfo hints{};
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
    return std::string("there is no such host: ") + ::gai_strerror(error);
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, ::freeaddrinfo);
  WaitingLine line(url);
  int error = EADDRNOTAVAIL;
  for (const addrinfo* address = found == nullptr ? &unix_socket : found; address != nullptr; address = address->ai_next) {
    const UniqueFd socket(
        ::socket(address->ai_family, address->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, address->ai_protocol));
    const TimePoint patience = system_clock().now() + std::chrono::seconds(kHttpConnectSeconds);
    error = connect_to(socket, *address, std::min(deadline, patience), line);
    if (error != 0) continue;
    error = exchange(socket.get(), request, deadline, line, bytes);
    if (error == ETIMEDOUT) return "no complete answer within " + std::to_string(url.patience_s) + " s";
    break;
  }
  return error == 0 ? std::string() : words_of_errno(error, url);
}

/// Removes a prefix, case-insensitive. Returns false if the text does not begin with it.
bool cut_beginning(std::string_view& text, std::string_view beginning) {
  if (!equals_ignoring_case(text.substr(0, beginning.size()), beginning)) return false;
  text.remove_prefix(beginning.size());
  return true;
}

ParsedUrl refused(const char* why) { return {.url = {}, .problem = why}; }

ParsedUrl parse_socket(std::string_view text, std::string_view path) {
  if (!path.starts_with('/') || path.size() > sizeof(sockaddr_un::sun_path) - 1) {
    return refused("is not the path of a socket: give unix:/run/memstatd/memstatd.sock");
  }
  HttpUrl url;
  url.socket = path;
  url.authority = "localhost";
  url.for_logs = text;
  return {.url = std::move(url), .problem = {}};
}

}  // namespace

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80U && (std::isalnum(byte) != 0 || c == '-' || c == '_' || c == '.')) {
      out += c;
    } else {
      out.append({'%', kHex[byte >> 4U], kHex[byte & 15U]});
    }
  }
  return out;
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

std::string short_name(const HttpUrl& url) {
  if (!url.socket.empty()) return url.socket.substr(url.socket.rfind('/') + 1);
  return url.host + (url.port == "8947" ? "" : ":" + url.port) + url.prefix;
}

std::string parse_answer(std::string_view bytes, HttpAnswer& answer) {
  Head head;
  if (std::string problem = read_head(bytes, head); !problem.empty()) return problem;
  if (head.size == 0) return bytes.empty() ? "the connection was closed without an answer" : kCutShort;
  answer = {.status = head.status, .etag = head.etag, .location = head.location, .body = {}};
  bytes.remove_prefix(head.size);
  if (bytes.size() < head.length.value_or(0)) return kCutShort;
  if (!head.length && bytes.size() > kMaxHttpBody) return kTooLarge;
  answer.body = bytes.substr(0, head.length.value_or(bytes.size()));
  return {};
}

TimePoint http_deadline(const HttpUrl& url) { return system_clock().now() + std::chrono::seconds(url.patience_s); }

void hide_waiting() { is_waiting_hidden = true; }

WaitingLine::WaitingLine(const HttpUrl& url)
    : url_(url), begin_(system_clock().now()), is_shown_(!is_waiting_hidden && !is_line_taken.test_and_set()) {}

WaitingLine::~WaitingLine() {
  progress_.finish();
  if (is_shown_) is_line_taken.clear();
}

void WaitingLine::update() {
  if (!is_shown_ || is_waiting_hidden || !progress_.is_due()) return;
  const auto waited = std::chrono::floor<std::chrono::seconds>(system_clock().now() - begin_).count();
  progress_.show("waiting for " + url_.for_logs + ": " + std::to_string(waited) + " of " + std::to_string(url_.patience_s) +
                 " s");
}

HttpResult http_get(const HttpUrl& url, std::string_view path, std::string_view etag, TimePoint deadline) {
  HttpResult result;
  std::string bytes;
  const HttpsRequest request{.path = path, .etag = etag, .most = kMaxHttpHead + kMaxHttpBody, .deadline = deadline};
  std::string why =
      url.is_https ? https_get(url, request, bytes) : plain_get(url, request_of(url, path, etag), deadline, bytes);
  if (why.empty()) {
    why = parse_answer(bytes, result.answer);
    if (!why.empty()) why += "; is this a " + std::string(url.server) + "?";
  }
  if (!why.empty()) result.problem = url.for_logs + ": " + why;
  return result;
}

bool is_url(std::string_view reference) {
  return cut_beginning(reference, "http://") || cut_beginning(reference, "https://") || reference.starts_with("unix:");
}

ParsedUrl parse_url(std::string_view text) {
  const std::string_view whole = text;
  if (cut_beginning(text, "unix:")) return parse_socket(whole, text);
  const bool has_bad_byte = std::any_of(text.begin(), text.end(), [](char c) { return c <= ' ' || c == '\x7f'; });
  if (has_bad_byte || text.find_first_of("?#") != std::string_view::npos) {
    return refused("is not the URL of a memstatd: give http://HOST:PORT, without blanks, '?' and '#'");
  }
  HttpUrl url;
  url.is_https = cut_beginning(text, "https://");
  if (!url.is_https && !cut_beginning(text, "http://"))
    return refused("is not the URL of a memstatd: give http://HOST:PORT");
  const std::size_t slash = std::min(text.find('/'), text.size());
  url.prefix = text.substr(slash);
  url.prefix.erase(url.prefix.find_last_not_of('/') + 1);
  text = text.substr(0, slash);
  if (const std::size_t at = text.rfind('@'); at != std::string_view::npos) {
    std::string user;
    if (!decode_percent(text.substr(0, at), false, user)) return refused("has an invalid escape: write %25 for '%'");
    url.credentials = base64(user);
    text.remove_prefix(at + 1);
  }
  url.authority = text;
  url.for_logs = (url.is_https ? "https://" : "http://") + url.authority + url.prefix;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return refused("has an IPv6 address without its ']': give http://[::1]:8947");
    url.host = text.substr(1, end - 1);
    text.remove_prefix(end + 1);
    if (!text.empty() && text[0] != ':') return refused("is not the URL of a memstatd: give http://[::1]:8947");
  } else {
    url.host = text.substr(0, text.find(':'));
    text.remove_prefix(url.host.size());
  }
  if (url.host.empty()) return refused("has no host: give http://HOST:PORT");
  url.port = !text.empty() ? std::string(text.substr(1)) : url.is_https ? "443" : "80";
  const auto port = parse_u64(url.port);
  if (!port || *port == 0 || *port > 65535) {
    return refused("has an invalid port: give http://HOST:PORT, such as http://127.0.0.1:8947");
  }
  return {.url = std::move(url), .problem = {}};
}

}  // namespace memstat::ctl
