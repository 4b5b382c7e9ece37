// SPDX-License-Identifier: BSD-2-Clause
// Reads a running memstatd through its API.
#include <algorithm>
#include <utility>

#include "daemon/ctl/output/cells.h"
#include "daemon/ctl/source/api_answers.h"
#include "daemon/ctl/source/http_client.h"
#include "daemon/ctl/source/report_source.h"

namespace memstat::ctl {
namespace {

constexpr const char* kTypesPath = "/api/v1/types";

/// Why an answer is unusable; "" if it is usable.
std::string refusal_of(const HttpUrl& url, std::string_view path, const HttpAnswer& answer) {
  if (answer.status == 200 || answer.status == 304) return {};
  std::string said = printable_bytes(parse_error_answer(answer.body));
  constexpr std::size_t kMaxSaid = 300;
  if (said.size() > kMaxSaid) said.clear();
  const std::string who = url.for_logs + ": ";
  if (answer.status >= 300 && answer.status < 400 && !answer.location.empty()) {
    return who + "redirects to " + printable_bytes(answer.location.substr(0, kMaxSaid)) + " (status " +
           std::to_string(answer.status) + "); give the URL of memstatd itself";
  }
  switch (answer.status) {
    case 401:
      return who + (url.credentials.empty() ? "needs a user and a password: use http://USER:PASSWORD@HOST:PORT"
                                            : "does not accept this user and password; its key basic_auth lists the users");
    case 403:
      return who + "refuses requests from this address; the key allow in its configuration lists the permitted networks";
    case 404:
      if (said.empty()) {
        return who + "has no " + std::string(path) + ": it is an older memstatd without this, or another program";
      }
      break;
    case 503: return who + (said.empty() ? "is there, but not ready: no poll has finished yet" : said);
    default: break;
  }
  return who + "answers with status " + std::to_string(answer.status) + (said.empty() ? "" : ": " + said);
}

class DaemonSource final : public ReportSource {
 public:
  explicit DaemonSource(HttpUrl url) : url_(std::move(url)) {}

  Sample read() override {
    deadline_ = http_deadline(url_);
    failure_.clear();
    HttpAnswer answer;
    Sample sample;
    if (sample.problem = get(kTypesPath, etag_, answer); !sample.problem.empty()) return sample;
    if (answer.status == 304) return last_;  // no new poll
    if (!parse_types_answer(answer.body, sample)) {
      sample.types.clear();
      sample.problem = not_ours(kTypesPath);
      return sample;
    }
    etag_ = answer.etag;
    if (sample.types.empty() && !has_source()) {
      sample.problem = url_.for_logs + ": none of its sources is up; memstatctl doctor shows what they lack";
    }
    (void)get_parsed("/api/v1/memory", [&](auto body) { return parse_memory_answer(body, machine_, sample.memory); });
    if (!missing_) missing_ = missing_sources_of();
    sample.missing = *missing_;
    last_ = sample;
    return sample;
  }

  Machine machine() override { return machine_; }

  Splits splits(const TypeRow& type) override {
    Splits splits;
    splits.problem =
        get_parsed(std::string(kTypesPath) + "/" + percent_encoded(type.allocator) + "/" + percent_encoded(type.name),
                   [&](auto body) { return parse_type_answer(body, splits); });
    return splits;
  }

  [[nodiscard]] std::string why_no_splits(std::string_view type) const override {
    return "memstatd keeps no values of " + std::string(type) +
           " by CPU or node: the kernel has none, or keys per_cpu and tier omit them";
  }

  std::vector<AmountHistory> history(unsigned seconds, unsigned points) override {
    std::vector<AmountHistory> histories;
    (void)get_parsed("/api/v1/history?seconds=" + std::to_string(seconds) + "&points=" + std::to_string(points),
                     [&](auto body) { return parse_history_answer(body, last_.types, histories); });
    return histories;
  }

  GrowthAnswer growth(std::int64_t seconds) override {
    GrowthAnswer growth;
    growth.problem = get_parsed("/api/v1/growth?seconds=" + std::to_string(seconds),
                                [&](auto body) { return parse_growth_answer(body, growth); });
    return growth;
  }
  FindingsAnswer findings() override {
    FindingsAnswer findings;
    findings.problem =
        get_parsed("/api/v1/findings", [&](auto body) { return parse_findings_answer(body, findings.diagnosis); });
    return findings;
  }
  [[nodiscard]] bool remembers() const override { return true; }

  EventsAnswer events() override {
    EventsAnswer events;
    events.problem = get_parsed("/api/v1/events", [&](auto body) { return parse_events_answer(body, events); });
    return events;
  }

 private:
  /// The states of the memstatd's sources; empty if it does not report them.
  [[nodiscard]] std::vector<SourceTrial> trials() const {
    SelfTest test;
    const std::string problem = get_parsed("/api/v1/sources", [&](auto body) { return parse_sources_answer(body, test); });
    return problem.empty() ? std::move(test.trials) : std::vector<SourceTrial>();
  }
  /// Whether any source of the memstatd is up.
  [[nodiscard]] bool has_source() const {
    const std::vector<SourceTrial> all = trials();
    return std::any_of(all.begin(), all.end(), [](const auto& trial) { return trial.health == SourceHealth::kWorks; });
  }
  /// The sources whose types are missing. A source that is not permitted causes no missing types.
  [[nodiscard]] std::vector<std::string> missing_sources_of() const {
    std::vector<std::string> lines;
    for (const SourceTrial& trial : trials()) {
      if (!trial.is_failure()) continue;
      lines.push_back("not in this answer: " + trial.source + ": " + trial.reason +
                      (trial.advice.empty() ? "" : "; " + trial.advice));
    }
    return lines;
  }
  /// Passes the answer's text to `parse`, which returns whether it is one of memstatd's. Returns "" or an error.
  template <typename Parse>
  std::string get_parsed(const std::string& path, Parse parse) const {
    HttpAnswer answer;
    std::string problem = get(path, {}, answer);
    return problem.empty() && !parse(std::string_view(answer.body)) ? not_ours(path) : problem;
  }
  std::string get(std::string_view path, std::string_view etag, HttpAnswer& answer) const {
    if (!failure_.empty()) return failure_;
    if (system_clock().now() >= deadline_) deadline_ = http_deadline(url_);
    HttpResult result = http_get(url_, path, etag, deadline_);
    failure_ = result.problem;
    if (!result.problem.empty()) return std::move(result.problem);
    answer = std::move(result.answer);
    return refusal_of(url_, path, answer);
  }
  [[nodiscard]] std::string not_ours(std::string_view path) const {
    return url_.for_logs + std::string(path) + ": the response is not from memstatd; does another program listen there?";
  }

  HttpUrl url_;
  mutable TimePoint deadline_;   // of one read() and the requests after it, so that a command waits once
  mutable std::string failure_;  // why one of them had no answer; the others are not tried
  std::string etag_;
  std::optional<std::vector<std::string>> missing_;  // from the first answer
  Sample last_;
  Machine machine_;
};

}  // namespace

OpenedSource open_daemon(const std::string& url) {
  ParsedUrl parsed = parse_url(url);
  if (!parsed.problem.empty()) return {.source = nullptr, .problem = parsed.problem};
  return {.source = std::make_unique<DaemonSource>(std::move(parsed.url)), .problem = {}};
}

DaemonAnswer ask_daemon(const std::string& url, std::string_view path) {
  const ParsedUrl parsed = parse_url(url);
  if (!parsed.problem.empty()) return {.text = {}, .problem = parsed.problem};
  HttpResult result = http_get(parsed.url, path, {}, http_deadline(parsed.url));
  if (result.problem.empty()) result.problem = refusal_of(parsed.url, path, result.answer);
  return {.text = std::move(result.answer.body), .problem = std::move(result.problem)};
}

}  // namespace memstat::ctl
