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

/// One series of an answer.
struct Series {
  struct Point {
    double seconds = 0;  ///< Since 1970.
    double value = 0;
  };
  LabelSet labels;
  double value = 0;                ///< Of an instant query.
  std::vector<Point> points = {};  ///< Of a range query, oldest first.

  /// The value of a label; "" if the series lacks it.
  [[nodiscard]] std::string label(const char* name) const {
    const auto found = labels.find(name);
    return found == labels.end() ? std::string() : found->second;
  }
};

struct SeriesAnswer {
  std::vector<Series> series;
  std::vector<std::string> warnings;  ///< Of the server, for display: the answer is partial.
  std::string problem;                ///< Why there is no answer, for display; "" if there is one.
};

/// Parses the answer to an instant query, or to a range query, which is untrusted. Values that are not finite, and series
/// without any other, are left out. Returns false for anything else than an answer; `problem` is then the server's own
/// error, or "".
bool parse_series(std::string_view json, bool is_range, SeriesAnswer& answer);

/// Parses label matchers, as in a query without the braces: `cluster="a",site=~"x|y"`. Returns them quoted again, so that
/// no value can end the selector; nothing if the text is not a list of matchers.
std::optional<std::string> quoted_matchers(std::string_view text);

/// `text` as a string of PromQL, with its quotes.
std::string quoted_string(std::string_view text);

/// The labels of the host of a series: those that its metric does not have.
LabelSet host_labels(LabelSet labels);

/// Names of hosts: the instance, or all labels where two have the same.
std::vector<std::string> host_names(const std::vector<LabelSet>& hosts);

/// Adds the header lines of a file to a URL: `Name: value`, or `bearer: TOKEN`, or `basic: USER:PASSWORD`. Empty lines and
/// lines that begin with # are skipped. Returns "" or an error, which never has a value in it.
std::string add_headers(const std::string& path, HttpUrl& url);

/// What is asked of a server, and how. The texts have been checked.
struct ServerOptions {
  std::string host = {};          ///< A regular expression of instances; "": all.
  std::string match = {};         ///< Label matchers of a query; "": none.
  std::string headers = {};       ///< A file with header lines; "": that of MEMSTAT_HEADERS, or none.
  std::optional<double> at = {};  ///< Seconds since 1970; empty: now.
  bool is_verbose = false;        ///< Print the queries to standard error.
};

class PrometheusServer {
 public:
  /// `reference` has been checked.
  PrometheusServer(std::string_view reference, ServerOptions options);

  /// The matchers of the options, quoted, and `more`, in braces.
  [[nodiscard]] std::string selector(const std::string& more = {}) const;
  [[nodiscard]] const HttpUrl& url() const { return url_; }
  /// Time of the queries, in seconds since 1970.
  [[nodiscard]] double time() const;
  /// Begins a refresh: one deadline holds for all of its queries.
  void begin() { deadline_ = http_deadline(url_); }
  /// For questions about many hosts, which take a server longer.
  void set_patience(int seconds) { url_.patience_s = seconds; }
  /// Asks for the value of an expression.
  SeriesAnswer query(const std::string& expression);
  /// Asks for values at `points` times, `step` seconds apart, the last of them at time().
  SeriesAnswer query_range(const std::string& expression, double step, std::size_t points);

 private:
  SeriesAnswer ask(const std::string& path, bool is_range);

  HttpUrl url_;
  ServerOptions options_;
  std::string matchers_;
  std::string problem_;  // of the file with headers
  TimePoint deadline_ = http_deadline(url_);
};

}  // namespace memstat::ctl
