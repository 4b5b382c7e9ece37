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

/// A header line of a request.
struct HttpHeader {
  std::string_view name;
  std::string_view value;
};

/// A validated request: strict HTTP/1.0 or 1.1, without a body. Everything is borrowed until the handler returns.
struct HttpRequest {
  std::string_view method;          ///< Also "GET" for HEAD; the server drops the body.
  std::string_view path;            ///< Percent-decoded; begins with '/'; no query, no NUL. Dots are not resolved.
  std::string_view query;           ///< As sent, without the '?'; empty if there is none.
  std::string_view host;            ///< The Host header; empty if there is none (HTTP/1.0).
  std::string_view remote_address;  ///< "192.0.2.1", "2001:db8::1" or "unix".
  std::span<const HttpHeader> headers = {};
  bool is_own = false;  ///< Made by HttpServer::answers.

  /// The first header with this name, case-insensitive.
  [[nodiscard]] std::optional<std::string_view> header(std::string_view name) const;
};

/// A response. The body is `pieces` in order, then `text`; status 304 has none. The server adds Content-Length,
/// Connection, Date and X-Content-Type-Options.
struct HttpResponse {
  int status = 200;
  std::string content_type = {};  ///< Empty: no such header.
  std::vector<std::pair<std::string, std::string>> headers = {};
  /// no-store: a momentary state must not be cached. no-cache with an ETag: cached, but revalidated for each use.
  std::string_view cache_control = "no-store";
  std::string text = {};                      ///< A small body.
  std::shared_ptr<const void> owner = {};     ///< Keeps the targets of `pieces` alive until they are sent.
  std::vector<std::string_view> pieces = {};  ///< A large body, never copied.
};

/// A short text for a person.
inline HttpResponse plain(int status, std::string text) {
  return {.status = status, .content_type = "text/plain; charset=utf-8", .text = std::move(text)};
}

}  // namespace memstat
