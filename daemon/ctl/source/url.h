// SPDX-License-Identifier: BSD-2-Clause
// URLs of a memstatd.
#pragma once

#include <string>
#include <string_view>

namespace memstat::ctl {

/// http://[USER[:PASSWORD]@]HOST[:PORT][/PREFIX], the same with https, or unix:PATH, taken apart. Thread safety: a plain
/// value.
struct HttpUrl {
  bool is_https = false;
  std::string socket;       ///< Path of a unix socket; "" for TCP.
  std::string host;         ///< Without the brackets of an IPv6 address.
  std::string port;         ///< "80", or "443" of https, when not given.
  std::string prefix;       ///< Before /api/v1: "" or "/memstatd"; never ends with a slash.
  std::string credentials;  ///< "user:password" in base64; "" for none.
  std::string for_logs;     ///< The URL without user and password.
};

/// `problem` is "" exactly when the URL is one that can be asked.
struct ParsedUrl {
  HttpUrl url;
  std::string problem;
};
ParsedUrl parse_url(std::string_view text);

/// Whether `reference` names a memstatd: http://..., https://... or unix:...
bool is_url(std::string_view reference);

}  // namespace memstat::ctl
