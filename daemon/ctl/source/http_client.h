// SPDX-License-Identifier: BSD-2-Clause
// URLs of a memstatd, and HTTP/1.0 GET, one request per connection, whose answer has no chunks. Plain HTTP is built in;
// https uses libcurl if it is installed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/clock.h"
#include "core/base/not_copyable.h"
#include "daemon/ctl/output/progress.h"

namespace memstat::ctl {

/// A parsed http://[USER[:PASSWORD]@]HOST[:PORT][/PREFIX], https URL, or unix:PATH.
struct HttpUrl {
  bool is_https = false;
  std::string socket;                     ///< Path of a unix socket; "" for TCP.
  std::string authority;                  ///< HOST[:PORT] as given.
  std::string host;                       ///< Without the brackets of an IPv6 address.
  std::string port;                       ///< "80", or "443" for https, if not given.
  std::string prefix;                     ///< Before /api/v1: "" or "/memstatd"; no slash at the end.
  std::string credentials;                ///< "user:password" in base64; "" for none.
  std::string for_logs;                   ///< The URL without user and password.
  std::vector<std::string> headers = {};  ///< More lines of the request: "X-Scope-OrgID: a".
  std::string_view server = "memstatd";   ///< The program that should answer, for display. Static.
  int patience_s = 15;                    ///< Seconds until there must be an answer.
};

/// `problem` is "" for a valid URL, and only then.
struct ParsedUrl {
  HttpUrl url;
  std::string problem;
};
ParsedUrl parse_url(std::string_view text);

/// Whether `reference` is a memstatd's URL: http://..., https://... or unix:...
bool is_url(std::string_view reference);

/// "db7:8948"; "db7" with memstatd's default port; or the name of a socket.
std::string short_name(const HttpUrl& url);

/// An HTTP answer.
struct HttpAnswer {
  int status = 0;
  std::string etag;      ///< "" if there is none.
  std::string location;  ///< Target of a redirect; "" if there is none.
  std::string body;
};

/// Maximum size of the header and the body.
inline constexpr std::size_t kMaxHttpHead = 64 * 1024;
inline constexpr std::size_t kMaxHttpBody = 64 * 1024 * 1024;

/// Parses a complete answer, which is untrusted. Returns "" or an error.
std::string parse_answer(std::string_view bytes, HttpAnswer& answer);

/// Timeout in seconds of a connection. HttpUrl::patience_s is that of all requests of a command, or of one refresh of its
/// figures. Name resolution has the system's timeout.
inline constexpr int kHttpConnectSeconds = 5;

/// An answer, or an error.
struct HttpResult {
  HttpAnswer answer;
  std::string problem;  ///< For display, with the URL; "" if there is an answer, and only then.
};

/// `text` in a query of a URL: everything but letters, digits and "-_." as %XX.
std::string percent_encoded(std::string_view text);
std::string base64(std::string_view bytes);

/// The deadline of requests to this URL that begin now.
TimePoint http_deadline(const HttpUrl& url);

/// Gets `path`, which begins with a slash, below the URL's prefix. `etag`: of the known version, for a 304 answer; ""
/// for none. After a second a line on the terminal says what it waits for. Signals do not interrupt it. Throws
/// std::bad_alloc.
HttpResult http_get(const HttpUrl& url, std::string_view path, std::string_view etag, TimePoint deadline);

/// No more lines about waiting: a full screen says so itself. Thread safety: safe.
void hide_waiting();

/// Progress while a request waits. Of several at once, one is shown.
class WaitingLine : NotCopyable {
 public:
  explicit WaitingLine(const HttpUrl& url);
  ~WaitingLine();

  /// Call it several times a second.
  void update();

 private:
  const HttpUrl& url_;
  const TimePoint begin_;
  const bool is_shown_;
  Progress progress_;
};

/// What an https request needs besides its URL.
struct HttpsRequest {
  std::string_view path;
  std::string_view etag;
  std::size_t most = 0;  ///< Maximum size of the answer, in bytes.
  TimePoint deadline;
};

/// Receives the unparsed answer to a GET over https. Returns "" or an error.
std::string https_get(const HttpUrl& url, const HttpsRequest& request, std::string& bytes);

}  // namespace memstat::ctl
