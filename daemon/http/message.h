// SPDX-License-Identifier: BSD-2-Clause
// A request and its response, as the handler sees them.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace memstat {

/// One header line of a request.
struct HttpHeader {
  std::string_view name;
  std::string_view value;
};

/// A request, checked: strict HTTP/1.0 or 1.1, without a body. Everything is borrowed until the handler returns.
struct HttpRequest {
  std::string_view method;  ///< "GET" for HEAD too: the server drops the body itself.
  std::string_view path;    ///< Percent-decoded, begins with '/', has no query and no NUL. Dots are left as they are.
  std::string_view query;   ///< As sent, without the '?'; empty when there is none.
  std::string_view host;    ///< The Host header; empty when there is none (HTTP/1.0).
  std::string_view remote_address;  ///< "192.0.2.1", "2001:db8::1" or "unix".
  std::span<const HttpHeader> headers = {};
  bool is_own = false;  ///< Made by HttpServer::answers.

  /// The value of the first header of this name, regardless of case.
  [[nodiscard]] std::optional<std::string_view> header(std::string_view name) const;
};

/// An answer. The body is `pieces` in order, then `text`; status 304 has none. Content-Length, Connection, Date and
/// X-Content-Type-Options are the server's business.
struct HttpResponse {
  int status = 200;
  std::string content_type = {};  ///< No such header when empty.
  std::vector<std::pair<std::string, std::string>> headers = {};
  /// no-store: what is as of a moment is never kept. no-cache, with an ETag: kept, and asked for again each time.
  std::string_view cache_control = "no-store";
  std::string text = {};                      ///< A small body.
  std::shared_ptr<const void> owner = {};     ///< Keeps what `pieces` point to alive until it is sent.
  std::vector<std::string_view> pieces = {};  ///< A large body, never copied.
};

/// A few words for a person.
inline HttpResponse plain(int status, std::string text) {
  return {.status = status, .content_type = "text/plain; charset=utf-8", .text = std::move(text)};
}

}  // namespace memstat
