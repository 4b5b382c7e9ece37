// SPDX-License-Identifier: BSD-2-Clause
// URLs of a memstatd.
#pragma once

#include <string>
#include <string_view>

namespace memstat::ctl {

/// A parsed http://[USER[:PASSWORD]@]HOST[:PORT][/PREFIX], https URL, or unix:PATH.
struct HttpUrl {
  bool is_https = false;
  std::string socket;       ///< Path of a unix socket; "" for TCP.
  std::string host;         ///< Without the brackets of an IPv6 address.
  std::string port;         ///< "80", or "443" for https, if not given.
  std::string prefix;       ///< Before /api/v1: "" or "/memstatd"; no slash at the end.
  std::string credentials;  ///< "user:password" in base64; "" for none.
  std::string for_logs;     ///< The URL without user and password.
};

/// `problem` is "" for a valid URL, and only then.
struct ParsedUrl {
  HttpUrl url;
  std::string problem;
};
ParsedUrl parse_url(std::string_view text);

/// Whether `reference` is a memstatd's URL: http://..., https://... or unix:...
bool is_url(std::string_view reference);

}  // namespace memstat::ctl
