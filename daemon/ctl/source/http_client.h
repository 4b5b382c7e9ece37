// SPDX-License-Identifier: BSD-2-Clause
// GET of plain HTTP/1.1, one request a connection.
#pragma once

#include <string>
#include <string_view>

#include "daemon/ctl/source/http_answer.h"

namespace memstat::ctl {

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

}  // namespace memstat::ctl
