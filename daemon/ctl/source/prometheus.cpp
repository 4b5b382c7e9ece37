// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/source/prometheus.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "core/base/ascii.h"
#include "core/base/text.h"
#include "daemon/ctl/output/cells.h"
#include "daemon/ctl/output/report_table.h"
#include "daemon/ctl/source/document.h"

namespace memstat::ctl {
namespace {

constexpr std::string_view kScheme = "prometheus:";
constexpr const char* kHeadersVariable = "MEMSTAT_HEADERS";
constexpr std::size_t kMaxShown = 300;  // characters of a server's own error

/// A sample, [TIME, "VALUE"]; nothing if it is not finite.
std::optional<Series::Point> point_of(const Document& pair) {
  if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number() || !pair[1].is_string()) return {};
  // A number as in JSON, or NaN or Inf.
  const Document value = Document::parse(pair[1].get_ref<const std::string&>(), nullptr, false);
  if (!value.is_number()) return {};
  const Series::Point point{.seconds = pair[0].get<double>(), .value = value.get<double>()};
  return std::isfinite(point.value) && std::isfinite(point.seconds) ? std::optional(point) : std::nullopt;
}

/// Stores the samples of an entry. Returns false if it has none.
bool take_points(const Document& entry, bool is_range, Series& series) {
  if (!is_range) {
    const auto pair = entry.find("value");
    const auto point = pair == entry.end() ? std::nullopt : point_of(*pair);
    series.value = point ? point->value : 0;
    return point.has_value();
  }
  each_of(entry, "values", Document::value_t::array, [&](const Document& pair) {
    const auto point = point_of(pair);
    if (point && (series.points.empty() || point->seconds > series.points.back().seconds)) series.points.push_back(*point);
  });
  return !series.points.empty();
}

bool is_label_name(std::string_view name) {
  const auto is_letter = [](unsigned char c) { return std::isalpha(c) != 0 || c == '_'; };
  return !name.empty() && is_letter(static_cast<unsigned char>(name[0])) &&
         std::all_of(name.begin(), name.end(), [&](unsigned char c) { return is_letter(c) || std::isdigit(c) != 0; });
}

/// Moves a string in quotes from the beginning of `text` to `value`, without its escapes.
bool take_string(std::string_view& text, std::string& value) {
  if (text.empty() || (text[0] != '"' && text[0] != '\'')) return false;
  const char quote = text[0];
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == quote) {
      text.remove_prefix(i + 1);
      return true;
    }
    if (text[i] == '\\') {
      if (++i == text.size()) return false;
      // Regular expressions need their backslashes: only those before a quote and before another one are escapes.
      if (text[i] != quote && text[i] != '\\') value += '\\';
    }
    value += text[i];
  }
  return false;
}

std::string error_of_status(const HttpUrl& url, const HttpAnswer& answer, const std::string& said) {
  const std::string who = url.for_logs + ": ";
  if (!said.empty()) return who + printable_bytes(said.substr(0, kMaxShown));
  if (answer.status >= 300 && answer.status < 400 && !answer.location.empty()) {
    return who + "redirects to " + printable_bytes(answer.location.substr(0, kMaxShown)) +
           "; give the URL of the server itself";
  }
  if (answer.status == 401 || answer.status == 403) {
    return who + "needs a password or a token: write it into a file and give --headers FILE";
  }
  if (answer.status == 200) return who + "the response is not from a Prometheus; does another program listen there?";
  return who + "answers with status " + std::to_string(answer.status) + " to /api/v1/; is this a Prometheus?";
}

}  // namespace

bool is_prometheus(std::string_view reference) { return reference.starts_with(kScheme); }

std::string check_prometheus(std::string_view reference) {
  const ParsedUrl parsed = parse_url(reference.substr(kScheme.size()));
  if (!parsed.problem.empty()) return "URL: give prometheus:http://HOST:9090 (" + parsed.problem + ")";
  if (!parsed.url.credentials.empty()) return "a password on the command line is seen by everybody: give --headers FILE";
  return {};
}

bool parse_series(std::string_view json, bool is_range, SeriesAnswer& answer) {
  const Document document = parsed_document(json);
  if (document.is_discarded()) return false;
  answer.problem = text_of(document, "error");
  for (std::string& warning : texts_of(document, "warnings")) answer.warnings.push_back(std::move(warning));
  const auto data = document.find("data");
  if (!answer.problem.empty() || data == document.end() || !data->is_object()) return false;
  if (list_of(*data, "result") == nullptr || text_of(*data, "resultType") != (is_range ? "matrix" : "vector")) return false;
  each_of(*data, "result", Document::value_t::object, [&](const Document& entry) {
    Series series;
    const auto labels = entry.find("metric");
    if (labels == entry.end() || !labels->is_object() || !take_points(entry, is_range, series)) return;
    for (const auto& [name, text] : labels->items()) {
      if (text.is_string()) series.labels.emplace(name, text.get<std::string>());
    }
    answer.series.push_back(std::move(series));
  });
  return true;
}

std::string quoted_string(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '\n') {
      quoted += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

std::optional<std::string> quoted_matchers(std::string_view text) {
  std::string quoted;
  for (text = trim(text); !text.empty();) {
    const std::size_t end = text.find_first_of("=!");
    if (end == std::string_view::npos || !is_label_name(trim(text.substr(0, end)))) return {};
    const std::string_view name = trim(text.substr(0, end));
    text.remove_prefix(end);
    std::string_view compare;
    for (const std::string_view one : {"=~", "!~", "!=", "="}) {
      if (compare.empty() && text.starts_with(one)) compare = one;
    }
    if (compare.empty()) return {};
    text = trim(text.substr(compare.size()));
    std::string value;
    // No label has a new line, whose escape would be taken for that of a regular expression.
    if (!take_string(text, value) || value.find('\n') != std::string::npos) return {};
    quoted.append(quoted.empty() ? "" : ",").append(name).append(compare).append(quoted_string(value));
    text = trim(text);
    if (text.empty()) break;
    if (text[0] != ',') return {};
    text = trim(text.substr(1));
  }
  return quoted;
}

std::string add_headers(const std::string& path, HttpUrl& url) {
  std::ifstream file(path);
  if (!file) return path + ": cannot be read";
  std::size_t number = 0;
  for (std::string text; std::getline(file, text);) {
    ++number;
    const std::string_view line = trim(text);
    if (line.empty() || line[0] == '#') continue;
    const std::size_t colon = std::min(line.find(':'), line.size());
    const std::string_view name = line.substr(0, colon);
    const std::string_view value = trim(line.substr(std::min(colon + 1, line.size())));
    const auto is_printed = [](unsigned char c) { return c > ' ' && c < 0x7f; };
    const bool is_header = std::all_of(name.begin(), name.end(), is_printed) && !name.empty() && !value.empty() &&
                           std::none_of(value.begin(), value.end(), [](unsigned char c) { return c < ' '; });
    if (!is_header) {
      return path + ":" + std::to_string(number) +
             ": give a header as Name: value, or bearer: TOKEN, or basic: USER:PASSWORD";
    }
    if (name == "bearer") {
      url.headers.push_back("Authorization: Bearer " + std::string(value));
    } else if (name == "basic") {
      url.credentials = base64(value);
    } else {
      url.headers.push_back(std::string(name) + ": " + std::string(value));
    }
  }
  return {};
}

LabelSet host_labels(LabelSet labels) {
  for (const char* const own : {"__name__", "os", "release", "cause", "object", "headline", "culprit", "next", "since",
                                "certainty", "allocator", "type"}) {
    labels.erase(own);
  }
  return labels;
}

std::vector<std::string> host_names(const std::vector<LabelSet>& hosts) {
  const auto instance_of = [](const LabelSet& labels) {
    const auto found = labels.find("instance");
    return found == labels.end() ? std::string() : found->second;
  };
  std::map<std::string, int> uses;
  for (const LabelSet& labels : hosts) ++uses[instance_of(labels)];
  std::vector<std::string> names;
  for (const LabelSet& labels : hosts) {
    const std::string instance = instance_of(labels);
    std::string& name = names.emplace_back();
    for (const auto& [label, value] : labels) {
      if (uses[instance] > 1 && label != "instance") name += value + "/";
    }
    name += instance;
  }
  return names;
}

PrometheusServer::PrometheusServer(std::string_view reference, ServerOptions options)
    : url_(parse_url(reference.substr(kScheme.size())).url), options_(std::move(options)) {
  url_.server = "Prometheus";
  const char* const variable = std::getenv(kHeadersVariable);  // NOLINT(concurrency-mt-unsafe)
  if (options_.headers.empty() && variable != nullptr) options_.headers = variable;
  if (!options_.headers.empty()) problem_ = add_headers(options_.headers, url_);
  matchers_ = quoted_matchers(options_.match).value_or("");
  if (options_.host.empty()) return;
  matchers_ += (matchers_.empty() ? "" : ",") + std::string("instance=~") + quoted_string(options_.host);
}

std::string PrometheusServer::selector(const std::string& more) const {
  return "{" + matchers_ + (matchers_.empty() || more.empty() ? "" : ",") + more + "}";
}

double PrometheusServer::time() const {
  const std::int64_t now_ms = system_clock().realtime_ns() / 1'000'000;
  return options_.at.value_or(static_cast<double>(now_ms) / 1000);
}

SeriesAnswer PrometheusServer::query(const std::string& expression) {
  if (options_.is_verbose) std::fprintf(stderr, "query: %s\n", expression.c_str());
  std::string path = "/api/v1/query?query=" + percent_encoded(expression);
  if (options_.at) path += "&time=" + number_text(*options_.at);
  return ask(path, false);
}

SeriesAnswer PrometheusServer::query_range(const std::string& expression, double step, std::size_t points) {
  if (options_.is_verbose) std::fprintf(stderr, "query of %zu times, each %g s: %s\n", points, step, expression.c_str());
  const double end = time();
  return ask("/api/v1/query_range?query=" + percent_encoded(expression) +
                 "&start=" + number_text(end - step * static_cast<double>(points - 1)) + "&end=" + number_text(end) +
                 "&step=" + number_text(step),
             true);
}

SeriesAnswer PrometheusServer::ask(const std::string& path, bool is_range) {
  SeriesAnswer answer;
  answer.problem = problem_;
  if (!answer.problem.empty()) return answer;
  HttpResult result = http_get(url_, path, {}, deadline_);
  answer.problem = std::move(result.problem);
  if (!answer.problem.empty()) return answer;
  const bool is_good = parse_series(result.answer.body, is_range, answer);
  if (!is_good || result.answer.status != 200) answer.problem = error_of_status(url_, result.answer, answer.problem);
  return answer;
}

}  // namespace memstat::ctl
