// SPDX-License-Identifier: BSD-2-Clause
// HTTP/1.1 GET, one request per connection. Plain HTTP is built in; https uses libcurl if it is installed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "daemon/ctl/source/url.h"

namespace memstat::ctl {

/// An HTTP answer.
struct HttpAnswer {
  int status = 0;
  std::string etag;  ///< "" if there is none.
  std::string body;
};

/// Maximum size of the header and the body.
inline constexpr std::size_t kMaxHttpHead = 64 * 1024;
inline constexpr std::size_t kMaxHttpBody = 64 * 1024 * 1024;

/// Parses a complete answer, which is untrusted. Returns "" or an error.
std::string parse_answer(std::string_view bytes, HttpAnswer& answer);

/// Timeouts in seconds for the connection, and for the whole request (name resolution has the system's timeout).
inline constexpr int kHttpConnectSeconds = 5;
inline constexpr int kHttpSeconds = 15;

/// An answer, or an error.
struct HttpResult {
  HttpAnswer answer;
  std::string problem;  ///< For display, with the URL; "" if there is an answer, and only then.
};

/// Gets `path`, which begins with a slash, below the URL's prefix. `etag`: of the known version, for a 304 answer; ""
/// for none. Signals do not interrupt it. Throws std::bad_alloc.
HttpResult http_get(const HttpUrl& url, std::string_view path, std::string_view etag);

/// Receives the unparsed answer to a GET over https, up to `most` bytes. Returns "" or an error.
std::string https_get(const HttpUrl& url, std::string_view path, std::string_view etag, std::size_t most,
                      std::string& bytes);

}  // namespace memstat::ctl
