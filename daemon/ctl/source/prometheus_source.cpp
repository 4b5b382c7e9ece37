// SPDX-License-Identifier: BSD-2-Clause
// Reads one host from a Prometheus-compatible server that scrapes its memstatd.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "core/base/amount_text.h"
#include "core/base/text.h"
#include "core/model/accounts.h"
#include "core/model/group_metrics.h"
#include "core/model/type_rules.h"
#include "daemon/ctl/output/cells.h"
#include "daemon/ctl/source/api_answers.h"
#include "daemon/ctl/source/prometheus.h"
#include "daemon/ctl/source/report_source.h"
#include "daemon/snapshot/metric_catalogue.h"

namespace memstat::ctl {
namespace {

constexpr const char* kLimitUsed = "memstat_type_limit_used_ratio";
constexpr const char* kGrowthRate = "memstat_type_growth_bytes_per_second";
constexpr const char* kPollTime = "memstat_poll_timestamp_seconds";
constexpr const char* kUnlisted = "memstat_unlisted_bytes";
constexpr std::size_t kMaxNamedHosts = 5;
/// Times of a range query for growth: a leak of the window rises in many of them, and 2000 types are 5 MB.
constexpr std::size_t kGrowthTimes = 120;

/// The metrics of read(), as a regular expression.
std::string read_metrics() {
  std::string names = std::string(kLimitUsed) + "|" + kGrowthRate + "|" + kPollTime + "|" + kUnlisted;
  for (const Column* const column : kColumns) names.append("|").append(description(column->field).metric.name);
  for (const SystemMetric* const metric :
       {&kTotalBytes, &kAvailableBytes, &kAccountedBytes, &kUnaccountedBytes, &kMemcgTasks, &kMemcgTasksLimit,
        &kMemcgAnonymousBytes, &kMemcgKernelBytes, &kMemcgReclaimableBytes, &kMemcgHeadroom, &kMemcgHeadroomUncertain,
        &kMemcgHeadroomSetBy}) {
    names.append("|").append(metric->facts.name);
  }
  return names;
}

std::uint64_t amount_of(double value) {
  constexpr double kMax = 9e18;
  return static_cast<std::uint64_t>(std::llround(std::clamp(value, 0.0, kMax)));
}

Allocator allocator_of(const std::string& name) {
  const int number = allocator_number(name);
  return number == ALLOCATOR_ANY ? Allocator::kUnknown : static_cast<Allocator>(number);
}

Finding finding_of(const Series& series) {
  Finding finding{.cause = series.label("cause"), .headline = {}};
  finding.severity = static_cast<Severity>(kSeverityCount - static_cast<std::size_t>(std::clamp(series.value, 1.0, 4.0)));
  const std::string object = series.label("object");
  const std::size_t slash = object.find('/');
  if (object.starts_with('/')) {
    finding.is_about(to_string(Allocator::kMemcg), object);
  } else if (slash != std::string::npos) {
    finding.is_about(object.substr(0, slash), object.substr(slash + 1));
  }
  finding.headline = finding.cause + (object.empty() ? "" : " of " + object);
  return finding;
}

/// Adds the words of memstat_finding_info.
void add_words(const Series& info, Finding& finding) {
  finding.headline = info.label("headline");
  for (const Certainty one : {Certainty::kConfirmed, Certainty::kLikely}) {
    if (info.label("certainty") == to_string(one)) finding.certainty = one;
  }
  if (const std::string since = info.label("since"); !since.empty()) finding.fact({.text = "since " + since, .source = {}});
  const std::string culprit = info.label("culprit");
  const std::size_t blank = culprit.find(' ');
  if (blank != std::string::npos) finding.by(culprit.substr(0, blank), culprit.substr(blank + 1));
  if (const std::string next = info.label("next"); !next.empty()) finding.then(next);
}

class PrometheusSource final : public ReportSource {
 public:
  PrometheusSource(const std::string& reference, const ServerOptions& options) : server_(reference, options) {}

  Sample read() override {
    server_.begin();
    Sample sample;
    sample_ = {};
    warnings_.clear();
    if (sample_.problem = find_host(); !sample_.problem.empty()) return sample_;
    const SeriesAnswer answer = query("{__name__=~\"" + read_metrics() + "\"," + host_ + "}");
    sample_.problem = answer.problem;
    take(answer.series);
    if (sample_.problem.empty() && sample_.types.empty()) {
      sample_.problem = server_.url().for_logs + ": no memory type of " + printable_bytes(machine_.host) + " at that time";
    }
    note_tier();
    sample_.missing.insert(sample_.missing.end(), warnings_.begin(), warnings_.end());
    return sample_;
  }

  Machine machine() override { return machine_; }

  Splits splits(const TypeRow& type) override {
    Splits splits;
    const SeriesAnswer answer = query("{__name__=~\"memstat_(cpu|node)_.+\",allocator=" + quoted_string(type.allocator) +
                                      ",type=" + quoted_string(type.name) + "," + percpu_host_ + "}");
    splits.problem = answer.problem;
    for (const MetricDescriptor& metric : metric_catalogue()) {
      const bool is_cpu = metric.scope == MetricScope::kCpu;
      if (!is_cpu && metric.scope != MetricScope::kNode) continue;
      Split split{.title = split_title(metric.name), .is_bytes = metric.unit == "bytes", .values = {}};
      for (const Series& series : answer.series) add_part(series, metric.name, is_cpu ? "cpu" : "node", split);
      if (!split.values.empty()) (is_cpu ? splits.cpus : splits.nodes).push_back(std::move(split));
    }
    return splits;
  }
  [[nodiscard]] std::string why_no_splits(std::string_view type) const override {
    return "this server has no values of " + std::string(type) +
           " by CPU or node: the kernel has none, or keys per_cpu and tier omit them, or nothing scrapes /metrics/percpu";
  }

  std::vector<AmountHistory> history(unsigned seconds, unsigned points) override {
    std::vector<AmountHistory> histories(sample_.types.size());
    if (points < 2) return histories;
    const double step = static_cast<double>(seconds) / (points - 1);
    const SeriesAnswer answer = server_.query_range(amounts(), step, points);
    double last = 0;
    for (const Series& series : answer.series) last = std::max(last, series.points.back().seconds);
    const auto places = places_of_types();
    for (const Series& series : answer.series) {
      const auto place = places.find({series.label("allocator"), series.label("type")});
      if (place == places.end()) continue;
      AmountHistory& amounts = histories[place->second];
      amounts.resize(points);
      for (const Series::Point& point : series.points) {
        const double before = std::round((last - point.seconds) / step);
        if (before < points) amounts[points - 1 - static_cast<std::size_t>(before)] = amount_of(point.value);
      }
    }
    return histories;
  }

  GrowthAnswer growth(std::int64_t seconds) override;

  FindingsAnswer findings() override {
    FindingsAnswer findings;
    const SeriesAnswer answer = query("{__name__=~\"memstat_finding(_info|s_dropped)?\"," + host_ + "}");
    findings.problem = answer.problem;
    if (answer.series.empty() && findings.problem.empty()) {
      findings.problem = server_.url().for_logs + ": no findings of " + printable_bytes(machine_.host) +
                         ": its memstatd is older, or the scrape drops memstat_finding";
    }
    const auto key_of = [](const Series& series) { return std::pair(series.label("cause"), series.label("object")); };
    std::map<std::pair<std::string, std::string>, const Series*> words;
    for (const Series& series : answer.series) {
      if (series.label("__name__") == "memstat_finding_info") words[key_of(series)] = &series;
    }
    for (const Series& series : answer.series) {
      if (series.label("__name__") != "memstat_finding" || !(series.value >= 1)) continue;
      Finding& finding = findings.diagnosis.findings.emplace_back(finding_of(series));
      if (const auto info = words.find(key_of(series)); info != words.end()) add_words(*info->second, finding);
    }
    const auto rank = [](const Finding& finding) { return std::tuple(finding.severity, finding.certainty, finding.cause); };
    std::stable_sort(findings.diagnosis.findings.begin(), findings.diagnosis.findings.end(),
                     [&](const Finding& a, const Finding& b) { return rank(a) < rank(b); });
    return findings;
  }
  [[nodiscard]] bool remembers() const override { return true; }

 private:
  SeriesAnswer query(const std::string& expression) {
    SeriesAnswer answer = server_.query(expression);
    for (const std::string& warning : answer.warnings) warnings_.insert("the server warns: " + warning);
    return answer;
  }

  /// Finds the only host that the options select. Returns "" or an error.
  std::string find_host() {
    if (!host_.empty()) return {};
    const SeriesAnswer answer = query("memstat_kernel_info" + server_.selector());
    if (!answer.problem.empty()) return answer.problem;
    std::map<LabelSet, const Series*> hosts;
    for (const Series& series : answer.series) hosts[host_labels(series.labels)] = &series;
    if (hosts.empty()) {
      return server_.url().for_logs + ": no host has the metric memstat_kernel_info" + server_.selector() +
             "; does the server scrape memstatd, and do --host and --match name one?";
    }
    std::vector<LabelSet> labels;
    for (const auto& [of_host, series] : hosts) labels.push_back(of_host);
    const std::vector<std::string> names = host_names(labels);
    if (hosts.size() > 1) {
      const std::vector<std::string> first(
          names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kMaxNamedHosts)));
      return server_.url().for_logs + ": " + std::to_string(hosts.size()) +
             " hosts; name one of them with --host or --match: " + printable_bytes(separated(first, ", ")) +
             (names.size() > kMaxNamedHosts ? ", ..." : "");
    }
    machine_ = {.host = names.front(),
                .os = hosts.begin()->second->label("os"),
                .release = hosts.begin()->second->label("release"),
                .machine = {},
                .replay = {}};
    for (const auto& [name, value] : labels.front()) {
      const std::string matcher = name + "=" + quoted_string(value);
      host_ += (host_.empty() ? "" : ",") + matcher;
      if (name != "job") percpu_host_ += (percpu_host_.empty() ? "" : ",") + matcher;  // another job scrapes that page
    }
    return {};
  }

  void take(const std::vector<Series>& all) {
    std::map<std::pair<std::string, std::string>, TypeRow> rows;
    double accounted = 0;
    std::map<std::string, double> values;  // of the machine
    fixed_.clear();
    for (const Series& series : all) {
      const std::string metric = series.label("__name__");
      if (series.labels.contains("type")) {
        take_figure(metric, series.value, rows[{series.label("allocator"), series.label("type")}]);
      } else if (series.labels.contains("group")) {
        take_group(metric, series, rows[{std::string(to_string(Allocator::kMemcg)), series.label("group")}]);
      } else if (metric == kAccountedBytes.facts.name) {
        accounted += series.value;
      } else if (metric == kUnlisted && series.value > 0) {
        sample_.notes.push_back("not in this answer: " + bytes_text(series.value) + " of " +
                                printable(series.label("allocator")) + " types, which this memstatd does not list");
      } else {
        values[metric] = series.value;
      }
    }
    for (auto& [name, row] : rows) {
      if (row.figures != 0) add_type(name.first, name.second, std::move(row));
    }
    sample_.time_ns = std::llround((values.contains(kPollTime) ? values[kPollTime] : server_.time()) * 1000) * 1'000'000;
    take_memory(values, accounted);
  }

  void take_memory(const std::map<std::string, double>& values, double accounted) {
    const auto value_of = [&](const SystemMetric& metric) {
      const auto found = values.find(std::string(metric.facts.name));
      return found == values.end() ? std::nullopt : std::optional(found->second);
    };
    const auto total = value_of(kTotalBytes), unaccounted = value_of(kUnaccountedBytes);
    if (!total || !unaccounted) return;
    sample_.memory = {.total = amount_of(*total),
                      .free = amount_of(*total - accounted - *unaccounted),
                      .unaccounted = std::llround(*unaccounted),
                      .available = {}};
    if (const auto available = value_of(kAvailableBytes)) sample_.memory->available = amount_of(*available);
  }

  static void take_figure(const std::string& metric, double value, TypeRow& row) {
    if (metric == kLimitUsed) row.limit_used = value;
    if (metric == kGrowthRate) row.growth = value;
    for (const Column* const column : kColumns) {
      if (metric != description(column->field).metric.name) continue;
      row.figures |= column->figure;
      row.*column->value = amount_of(value);
    }
  }

  void take_group(const std::string& metric, const Series& series, TypeRow& row) {
    if (metric == kMemcgTasks.facts.name) row.tasks = amount_of(series.value);
    if (metric == kMemcgTasksLimit.facts.name) row.tasks_limit = amount_of(series.value);
    if (metric == kMemcgHeadroom.facts.name) {
      (series.label("until") == "max" ? row.headroom.bytes : row.headroom.until_high) = amount_of(series.value);
    } else if (series.label("until") == "max") {
      if (metric == kMemcgHeadroomSetBy.facts.name) row.headroom.set_by = series.label("by");
      if (metric == kMemcgHeadroomUncertain.facts.name) row.headroom.uncertain = series.label("reason");
    }
    if (metric == kMemcgAnonymousBytes.facts.name || metric == kMemcgKernelBytes.facts.name) {
      fixed_[series.label("group")] += series.value;
    }
    if (metric == kMemcgReclaimableBytes.facts.name) fixed_[series.label("group")] -= series.value;
  }

  void add_type(const std::string& allocator, const std::string& name, TypeRow row) {
    row.allocator = allocator;
    row.allocator_number = allocator_number(allocator);
    row.name = name;
    row.is_container = is_container(allocator_of(allocator), name);
    row.fails_routinely = fails_routinely(allocator_of(allocator), name);
    if (row.tasks_limit == 0) row.tasks.reset();
    sample_.types.push_back(std::move(row));
  }

  /// What the tier of the scraped memstatd leaves out.
  void note_tier() {
    bool has_objects = false, has_sizes = false, has_held = false;
    for (const TypeRow& type : sample_.types) {
      if (type.allocator_number != ALLOCATOR_SLAB && type.allocator_number != ALLOCATOR_UMA) continue;
      has_objects = has_objects || has(type, kObjectsInUse);
      has_sizes = has_sizes || has(type, kObjectSize);
      has_held = has_held || has(type, kBytesHeld);
    }
    if (!has_objects) return;
    if (!has_held) {
      sample_.unscraped.emplace_back(
          "not in this answer: bytes held and objects free, which memstatd exports with tier: default");
    }
    if (!has_sizes) {
      sample_.unscraped.emplace_back("not in this answer: sizes of objects, which memstatd exports with tier: full");
    }
  }

  /// Amounts of types as history and growth judge them.
  [[nodiscard]] std::string amounts() const {
    return "memstat_type_bytes{" + host_ + "} or memstat_type_objects{" + host_ + "}";
  }

  [[nodiscard]] std::map<std::pair<std::string, std::string>, std::size_t> places_of_types() const {
    std::map<std::pair<std::string, std::string>, std::size_t> places;
    for (std::size_t i = 0; i < sample_.types.size(); ++i) {
      places.emplace(std::pair(sample_.types[i].allocator, sample_.types[i].name), i);
    }
    return places;
  }

  static void add_part(const Series& series, std::string_view metric, const char* label, Split& split) {
    constexpr std::uint64_t kMaxPlaces = 16384;  // maximum number of CPUs, as in captures
    if (series.label("__name__") != metric) return;
    const auto part = parse_u64(series.label(label));
    if (!part || *part >= kMaxPlaces) return;
    split.values.resize(std::max<std::size_t>(split.values.size(), *part + 1));
    split.values[*part] = amount_of(series.value);
  }

  void add_series(const Series& series, const std::map<std::pair<std::string, std::string>, std::size_t>& places,
                  GrowthReport& report) const;

  PrometheusServer server_;
  std::string host_;         // matchers of all labels of the host
  std::string percpu_host_;  // the same, of the page with values by CPU
  Machine machine_;
  Sample sample_;                        // of the last read()
  std::map<std::string, double> fixed_;  // bytes of control groups that are not cached
  std::set<std::string> warnings_;
};

TypeAmounts amounts_of(const TypeRow& type) {
  const auto value_of = [&](const Column& column) {
    return has(type, column) ? std::optional(figure_of(type, column)) : std::nullopt;
  };
  return {.bytes = value_of(kBytesInUse),
          .objects = value_of(kObjectsInUse),
          .bytes_limit = value_of(kByteLimit),
          .objects_limit = value_of(kObjectLimit)};
}

void PrometheusSource::add_series(const Series& series,
                                  const std::map<std::pair<std::string, std::string>, std::size_t>& places,
                                  GrowthReport& report) const {
  GrowthSeries grown{.allocator = series.label("allocator"), .name = series.label("type")};
  for (const Series::Point& point : series.points) grown.points.push_back({.seconds = point.seconds, .amount = point.value});
  if (!series.labels.contains("type")) {
    grown.allocator = kAccountAllocator;
    grown.name = series.labels.contains("part") ? series.label("part") : std::string(kUnaccountedSeries);
    grown.is_cache = is_cache_part(grown.name);
    report.series.push_back(std::move(grown));
    return;
  }
  const Allocator allocator = allocator_of(grown.allocator);
  const auto place = places.find({grown.allocator, grown.name});
  if (place == places.end() || !is_ranked_by_growth(allocator, grown.name)) return;
  const TypeRow& type = sample_.types[place->second];
  grown.is_cache = is_cache(allocator, grown.name);
  set_amounts(amounts_of(type), grown);
  if (const auto fixed = fixed_.find(grown.name); allocator == Allocator::kMemcg && fixed != fixed_.end()) {
    grown.is_cache = is_group_cache(grown, fixed->second);
  }
  report.series.push_back(std::move(grown));
}

GrowthAnswer PrometheusSource::growth(std::int64_t seconds) {
  GrowthAnswer failed;
  const std::string window = "[" + std::to_string(seconds) + "s]";
  const SeriesAnswer scrapes = query("sum(count_over_time(memstat_kernel_info{" + host_ + "}" + window + "))");
  failed.problem = scrapes.problem;
  if (!failed.problem.empty() || scrapes.series.empty()) return failed;
  const auto polls = static_cast<std::size_t>(std::max(1.0, scrapes.series.front().value));
  const std::size_t times = std::min(polls, kGrowthTimes);
  const double step = std::max(1.0, std::floor(static_cast<double>(seconds) / static_cast<double>(times)));
  const SeriesAnswer answer = server_.query_range(
      amounts() + " or memstat_accounted_bytes{" + host_ + "} or memstat_unaccounted_bytes{" + host_ +
          "} or label_replace(sum without (by) (memstat_reclaimed_pages_total{by=~\"kswapd|page_daemon\"," + host_ +
          "}), \"reclaimed\", \"yes\", \"\", \"\")",
      step, times);
  failed.problem = answer.problem;
  if (!failed.problem.empty()) return failed;
  GrowthReport report;
  std::vector<double> reclaimed;
  const auto places = places_of_types();
  double first = 0, last = 0;
  for (const Series& series : answer.series) {
    if (last == 0) first = series.points.front().seconds;
    first = std::min(first, series.points.front().seconds);
    last = std::max(last, series.points.back().seconds);
    const bool is_reclaimed = series.labels.contains("reclaimed");
    if (!is_reclaimed) add_series(series, places, report);
    for (const Series::Point& point : series.points) {
      if (is_reclaimed) reclaimed.push_back(point.value);
    }
  }
  for (GrowthSeries& series : report.series) {
    report.polls = std::max(report.polls, series.points.size());
    for (GrowthPoint& point : series.points) point.seconds -= first;
  }
  report.seconds = last - first;
  if (reclaimed.size() != report.polls) reclaimed.clear();
  if (sample_.memory && sample_.memory->available) report.available = static_cast<double>(*sample_.memory->available);
  rank_report(report, sample_.memory ? static_cast<double>(sample_.memory->total) : 0, reclaimed);
  return growth_answer(report);
}

}  // namespace

std::unique_ptr<ReportSource> open_prometheus(const std::string& reference, const ServerOptions& options) {
  return std::make_unique<PrometheusSource>(reference, options);
}

}  // namespace memstat::ctl
