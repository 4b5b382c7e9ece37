// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/explain/explain.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "core/base/ascii.h"
#include "core/diagnosis/cause.h"
#include "core/model/field.h"
#include "core/source.h"
#include "daemon/explain/tables.h"
#include "daemon/snapshot/metric_catalogue.h"
#include "daemon/snapshot/own_metrics.h"

namespace memstat {
// allocator_words.txt and column_words.txt, embedded.
std::string_view allocator_words_text();
std::string_view column_words_text();

namespace {

/// Describes an allocator's types. Static.
struct AllocatorWord {
  std::string_view name;
  std::string_view what;
};

/// A column of memstatctl. Static.
struct ColumnWord {
  std::string_view title;  ///< In text, "USED"; "" for none.
  std::string_view key;    ///< In JSON and CSV, "limit_used_ratio"; "" for none.
  std::string_view what;
  std::string_view metric;  ///< The metric with the same figure; "" for none.
};

const std::vector<AllocatorWord>& allocator_words() {
  static const auto words = rows_of<AllocatorWord>(allocator_words_text());
  return words;
}

const std::vector<ColumnWord>& column_words() {
  static const auto words = rows_of<ColumnWord>(column_words_text());
  return words;
}

/// The alert whose runbook applies when the metric grows or something is wrong.
struct AlertOfMetric {
  std::string_view metric;
  std::string_view alert;
};
constexpr std::array<AlertOfMetric, 16> kAlertsOfMetrics{
    {{"memstat_type_failures_total", "MemstatAllocationFailures"},
     {"memstat_type_limit_hits_total", "MemstatLimitHit"},
     {"memstat_type_sleeps_total", "MemstatLimitWaits"},
     {"memstat_type_sleepers", "MemstatLimitWaits"},
     {"memstat_type_limit_objects", "MemstatNearLimit"},
     {"memstat_type_limit_bytes", "MemstatNearLimit"},
     {"memstat_type_limit_used_ratio", "MemstatNearLimit"},
     {"memstat_type_bytes", "MemstatLeakSuspected"},
     {"memstat_type_objects", "MemstatLeakSuspected"},
     {"memstat_type_held_bytes", "MemstatLeakSuspected"},
     {"memstat_type_growth_bytes_per_second", "MemstatLeakSuspected"},
     {"memstat_unaccounted_bytes", "MemstatUnaccountedGrowth"},
     {"memstat_source_up", "MemstatSourceDown"},
     {"memstat_source_errors_total", "MemstatSourceStuck"},
     {"memstat_poll_timestamp_seconds", "MemstatPollStuck"},
     {"memstat_config_last_reload_successful", "MemstatConfigReloadFailed"}}};

/// Whether the origin belongs to that metric of the catalogue.
bool is_of(const MetricOrigin& origin, const MetricDescriptor& metric) {
  using Of = MetricOrigin::Of;
  switch (metric.scope) {
    case MetricScope::kType:
      if (origin.of != Of::kType) return false;
      return origin.number == metric.figure || (metric.figure == static_cast<std::uint16_t>(Field::kCountLimit) &&
                                                origin.number == static_cast<std::uint8_t>(Field::kCountLimit64));
    case MetricScope::kCpu: return origin.of == Of::kCpu && origin.number == metric.figure;
    case MetricScope::kNode: return origin.of == Of::kNode && origin.number == metric.figure;
    case MetricScope::kSizeClass:
      return origin.of == Of::kType && origin.number == static_cast<std::uint8_t>(Field::kSizeMask);
    case MetricScope::kSystem: return origin.of == Of::kSystem && origin.metric->facts.name == metric.name;
    default: return false;
  }
}

std::string line_of_source(const SourceDescriptor& source, std::string_view text) {
  std::string line(source.name);
  if (source.allocator != Allocator::kUnknown) line.append(" (").append(to_string(source.allocator)).append(")");
  return line.append(": ").append(text);
}

/// The runbook sections that apply when the metric grows, by alert name.
std::string growth_of(std::string_view metric) {
  std::vector<std::string_view> alerts;
  for (const AlertOfMetric& row : kAlertsOfMetrics) {
    if (row.metric == metric) alerts.push_back(row.alert);
  }
  for (const Runbook& runbook : runbooks()) {
    const bool is_new = std::find(alerts.begin(), alerts.end(), runbook.alert) == alerts.end();
    if (is_new && runbook.section.find(metric) != std::string_view::npos) alerts.push_back(runbook.alert);
  }
  std::string text;
  for (const std::string_view alert : alerts) text.append(text.empty() ? "see explain " : ", explain ").append(alert);
  return text;
}

std::string_view words_of(MetricScope scope) {
  switch (scope) {
    case MetricScope::kCpu: return "each type on each CPU";
    case MetricScope::kNode: return "each type on each NUMA node";
    case MetricScope::kSizeClass: return "each size class of a type";
    case MetricScope::kAllocator: return "each allocator";
    case MetricScope::kSystem: return "the machine";
    default: return "each type";
  }
}

Explanation of_metric(const MetricDescriptor& metric) {
  Explanation found{.kind = "metric", .name = std::string(metric.name), .what = std::string(metric.help)};
  found.what.append(" A ").append(to_string(metric.kind)).append(" of ").append(words_of(metric.scope));
  if (!metric.unit.empty()) found.what.append(" in ").append(metric.unit);
  found.what.append("; shown from tier ").append(to_string(metric.tier)).append(" on.");
  for (const SourceDescriptor* const source : all_sources()) {
    for (const MetricOrigin& origin : source->origins) {
      if (is_of(origin, metric)) found.where.push_back(line_of_source(*source, origin.origin));
    }
  }
  const bool is_tracked = metric.scope == MetricScope::kType && metric.figure >= kFieldCount;
  if (is_tracked) found.where.emplace_back("memstatd computes it from changes between polls");
  found.growth = growth_of(metric.name);
  return found;
}

Explanation of_own_metric(const OwnMetric& metric) {
  Explanation found{.kind = "metric", .name = std::string(metric.name), .what = std::string(metric.help)};
  found.what.append(" A ").append(to_string(metric.kind)).append(" of memstatd itself; shown in every tier.");
  found.where.emplace_back(metric.name.starts_with("process_") ? "the kernel counts it for the process memstatd"
                                                               : "memstatd counts it itself");
  found.growth = growth_of(metric.name);
  return found;
}

/// Whether `word` names the metric, with or without "memstat_".
bool is_name_of(std::string_view word, std::string_view metric) {
  return metric == word || (metric.starts_with("memstat_") && metric.substr(8) == word);
}

/// Adds figures of types by the names used in libmemstat and --list-sources.
void add_values(std::string_view word, std::vector<Explanation>& found) {
  for (const MetricDescriptor& metric : metric_catalogue()) {
    if (metric.scope != MetricScope::kType || metric.figure >= kFieldCount) continue;
    const auto field = static_cast<Field>(metric.figure);
    if (to_string(field) != word) continue;
    Explanation& value = found.emplace_back(of_metric(metric));
    value.kind = "value";
    value.name = std::string(word) + ", the metric " + std::string(metric.name);
  }
}

void add_types(std::string_view word, std::vector<Explanation>& found) {
  std::vector<std::string_view> allocators;  // the best match of each is enough
  for (const KnownType& known : known_types()) {
    const std::string prefix = std::string(known.allocator) + "/";
    const bool has_prefix = word.starts_with(prefix);
    const std::string_view name = has_prefix ? word.substr(prefix.size()) : word;
    // A pattern that matches any name applies only if the allocator is given.
    if (!has_prefix && (known.pattern == "*" || known.pattern == "/*")) continue;
    if (name.empty() || !matches_pattern(known.pattern, name)) continue;
    if (std::find(allocators.begin(), allocators.end(), known.allocator) != allocators.end()) continue;
    allocators.push_back(known.allocator);
    Explanation& type = found.emplace_back();
    type.kind = "type";
    type.name = std::string(known.allocator) + "/" + std::string(name);
    type.what = known.what;
    type.growth = known.growth;
    for (const SourceDescriptor* const source : all_sources()) {
      if (source->is_roster && to_string(source->allocator) == known.allocator) {
        type.where.push_back(line_of_source(*source, source->origin));
      }
    }
  }
}

void add_allocators(std::string_view word, std::vector<Explanation>& found) {
  for (const AllocatorWord& allocator : allocator_words()) {
    if (allocator.name != word && word != "allocator") continue;
    Explanation& one = found.emplace_back();
    one.kind = "allocator";
    one.name = allocator.name;
    one.what = allocator.what;
    if (word == "allocator") continue;  // a list of all: descriptions only
    for (const SourceDescriptor* const source : all_sources()) {
      if (to_string(source->allocator) == word) one.where.push_back(line_of_source(*source, source->origin));
    }
  }
}

/// Match a key only if the word is not a metric, value or type.
void add_columns(std::string_view word, std::vector<Explanation>& found) {
  for (const ColumnWord& column : column_words()) {
    const bool is_title = !column.title.empty() && column.title == word;
    if (!is_title && (!found.empty() || column.key.empty() || column.key != word)) continue;
    Explanation& one = found.emplace_back();
    one.kind = "column";
    one.name = column.title.empty() ? column.key : column.title;
    if (!column.title.empty() && !column.key.empty()) one.name += ", " + std::string(column.key);
    one.what = column.what;
    if (!column.metric.empty()) one.growth = "see explain " + std::string(column.metric);
  }
}

Explanation of_cause(const Cause& cause) {
  Explanation found{
      .kind = "cause", .name = std::string(cause.name), .what = std::string(cause.looks_for) + " memstatctl why finds it."};
  for (const std::span<const std::string_view> names : {cause.needs, cause.uses}) {
    for (const std::string_view name : names) found.where.push_back("it looks at " + std::string(name));
  }
  if (!cause.runbook.empty()) found.growth = "see explain " + std::string(cause.runbook);
  return found;
}

}  // namespace

std::vector<Explanation> explain(std::string_view word) {
  std::vector<Explanation> found;
  add_allocators(word, found);
  for (const MetricDescriptor& metric : metric_catalogue()) {
    if (is_name_of(word, metric.name)) found.push_back(of_metric(metric));
  }
  for (const OwnMetric& metric : own_metrics()) {
    if (is_name_of(word, metric.name)) found.push_back(of_own_metric(metric));
  }
  add_values(word, found);
  for (const Runbook& runbook : runbooks()) {
    if (!equals_ignoring_case(runbook.alert, word) && !equals_ignoring_case(runbook.alert, "Memstat" + std::string(word)))
      continue;
    found.push_back({.kind = "alert", .name = std::string(runbook.alert), .what = std::string(runbook.section)});
  }
  if (const Cause* const cause = find_cause(word); cause != nullptr) found.push_back(of_cause(*cause));
  for (const SourceDescriptor* const source : all_sources()) {
    if (source->name != word) continue;
    found.push_back({.kind = "source",
                     .name = std::string(source->name),
                     .what = std::string(source->notes),
                     .where = {std::string(source->origin)}});
  }
  add_types(word, found);
  add_columns(word, found);
  return found;
}

std::vector<std::string> explained_words() {
  std::vector<std::string> words;
  for (const MetricDescriptor& metric : metric_catalogue()) words.emplace_back(metric.name);
  for (const OwnMetric& metric : own_metrics()) words.emplace_back(metric.name);
  for (std::size_t i = 0; i < kFieldCount; ++i) words.emplace_back(to_string(static_cast<Field>(i)));
  for (const Runbook& runbook : runbooks()) words.emplace_back(runbook.alert);
  for (const SourceDescriptor* const source : all_sources()) words.emplace_back(source->name);
  for_each_cause([&](const Cause& cause) { words.emplace_back(cause.name); });
  for (const KnownType& known : known_types()) {
    if (known.pattern.find('*') == std::string_view::npos) words.emplace_back(known.pattern);
  }
  words.emplace_back("allocator");
  for (const AllocatorWord& allocator : allocator_words()) words.emplace_back(allocator.name);
  for (const ColumnWord& column : column_words()) {
    for (const std::string_view word : {column.title, column.key}) {
      if (!word.empty()) words.emplace_back(word);
    }
  }
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return words;
}

}  // namespace memstat
