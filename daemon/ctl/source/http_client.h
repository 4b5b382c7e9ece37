// SPDX-License-Identifier: BSD-2-Clause
// GET of HTTP/1.1, one request a connection: of plain HTTP by itself, of https by libcurl where that is installed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "daemon/ctl/source/url.h"

namespace memstat::ctl {

/// An answer. Thread safety: a plain value.
struct HttpAnswer {
  int status = 0;
  std::string etag;  ///< "" for none.
  std::string body;
};

/// Bytes of header lines, and of a body, at most.
inline constexpr std::size_t kMaxHttpHead = 64 * 1024;
inline constexpr std::size_t kMaxHttpBody = 64 * 1024 * 1024;

/// Reads all bytes of an answer, which may come from anybody. "" or what is wrong with them.
std::string parse_answer(std::string_view bytes, HttpAnswer& answer);

/// Connecting, and the whole of it, in seconds at most (names are looked up for as long as the system's resolver does).
inline constexpr int kHttpConnectSeconds = 5;
inline constexpr int kHttpSeconds = 15;

/// An answer, or why there is none.
struct HttpResult {
  HttpAnswer answer;
  std::string problem;  ///< For people, with the URL; "" exactly when there is an answer.
};

/// Asks for `path`, which begins with a slash, behind the URL's prefix. `etag`: what is known already, for an answer 304; ""
/// for nothing. Signals do not end the wait. Throws std::bad_alloc. Thread safety: safe.
HttpResult http_get(const HttpUrl& url, std::string_view path, std::string_view etag);

/// The bytes of the answer to a GET by https, unread, up to `most`. "" or why there are none.
std::string https_get(const HttpUrl& url, std::string_view path, std::string_view etag, std::size_t most,
                      std::string& bytes);

}  // namespace memstat::ctl
