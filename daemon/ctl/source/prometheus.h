// SPDX-License-Identifier: BSD-2-Clause
// A Prometheus-compatible server (Prometheus, Thanos, Mimir, VictoriaMetrics) as a source of figures of many hosts.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/ctl/source/http_client.h"

namespace memstat::ctl {

/// Whether `reference` is prometheus:URL.
bool is_prometheus(std::string_view reference);
/// Checks prometheus:URL. Returns "" or an error.
std::string check_prometheus(std::string_view reference);

/// Sorted, so that two sets can be compared.
using LabelSet = std::map<std::string, std::string>;

/// One series of an instant query.
struct Series {
  LabelSet labels;
  double value = 0;
};

struct SeriesAnswer {
  std::vector<Series> series;
  std::vector<std::string> warnings;  ///< Of the server, for display: the answer is partial.
  std::string problem;                ///< Why there is no answer, for display; "" if there is one.
};

/// Parses the answer to an instant query, which is untrusted. Series without a finite value are left out. Returns false for
/// anything else than an answer; `problem` is then the server's own error, or "".
bool parse_series(std::string_view json, SeriesAnswer& answer);

/// Parses label matchers, as in a query without the braces: `cluster="a",site=~"x|y"`. Returns them quoted again, so that
/// no value can end the selector; nothing if the text is not a list of matchers.
std::optional<std::string> quoted_matchers(std::string_view text);

/// `text` as a string of PromQL, with its quotes.
std::string quoted_string(std::string_view text);

/// Adds the header lines of a file to a URL: `Name: value`, or `bearer: TOKEN`, or `basic: USER:PASSWORD`. Empty lines and
/// lines that begin with # are skipped. Returns "" or an error, which never has a value in it.
std::string add_headers(const std::string& path, HttpUrl& url);

class PrometheusServer {
 public:
  /// `time`: that of the queries, in seconds since 1970; empty: now. `reference` has been checked.
  PrometheusServer(std::string_view reference, std::optional<double> time);

  [[nodiscard]] HttpUrl& url() { return url_; }
  /// Asks for the value of an expression. One deadline holds for all queries of a server.
  SeriesAnswer query(const std::string& expression);
  /// Every expression asked so far.
  [[nodiscard]] const std::vector<std::string>& queries() const { return queries_; }

 private:
  HttpUrl url_;
  std::optional<double> time_;
  TimePoint deadline_ = http_deadline();
  std::vector<std::string> queries_;
};

}  // namespace memstat::ctl
