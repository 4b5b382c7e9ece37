// SPDX-License-Identifier: BSD-2-Clause
#include "core/diagnosis/evidence.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace memstat {
namespace {

constexpr std::string_view kAccountPrefix = "account/";
constexpr std::string_view kAccountMetric = "memstat_accounted_bytes";

}  // namespace

const TypeEvidence* Evidence::type(Allocator allocator, std::string_view name) const {
  const auto found = std::find_if(types.begin(), types.end(),
                                  [&](const TypeEvidence& one) { return one.allocator == allocator && one.name == name; });
  return found == types.end() ? nullptr : &*found;
}

namespace {

const InspectionAnswer* answer_to(std::string_view question, std::span<const InspectionAnswer> answers) {
  const auto found =
      std::find_if(answers.begin(), answers.end(), [&](const InspectionAnswer& one) { return one.question == question; });
  return found == answers.end() ? nullptr : &*found;
}

}  // namespace

const InspectionAnswer* Evidence::inspection(std::string_view question) const { return answer_to(question, inspections); }

const InspectionAnswer* Evidence::recent_inspection(std::string_view question) const {
  const InspectionAnswer* const answer = inspection(question);
  return answer == nullptr && limits != nullptr ? answer_to(question, *limits) : answer;
}

bool Evidence::is_earlier(const InspectionAnswer& answer) const { return inspection(answer.question) == nullptr; }

const InspectionAnswer* Evidence::answer_about_holders(std::string_view question) const {
  for (const std::span<const InspectionAnswer> answers : {std::span(inspections), std::span(holders)}) {
    if (const InspectionAnswer* const answer = answer_to(question, answers); answer != nullptr) return answer;
  }
  return recent_inspection(question);
}

std::optional<double> Evidence::inspected_count(std::string_view question, std::string_view name) const {
  const InspectionAnswer* const answer = inspection(question);
  if (answer == nullptr || answer->is_partial()) return std::nullopt;
  for (const Holder& holder : answer->holders) {
    if (holder.name == name) return static_cast<double>(holder.count.value_or(0));
  }
  return 0;
}

void MetricIndex::make(std::span<const MetricEvidence> metrics) {
  std::size_t names = 0;
  for (std::size_t i = 0; i < metrics.size(); ++i) names += i == 0 || metrics[i].metric != metrics[i - 1].metric ? 1 : 0;
  runs_.assign(std::bit_ceil(2 * names + 1), Run());
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    Run& run = runs_[place_of(metrics[i].metric)];
    if (run.size++ == 0) {
      run.metric = metrics[i].metric;
      run.first = static_cast<std::uint32_t>(i);
    }
  }
}

/// The place of that metric, or the free one where it would be.
std::size_t MetricIndex::place_of(std::string_view metric) const {
  // Names begin alike and often end alike.
  constexpr std::size_t kPrefix = std::string_view("memstat_").size();
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  const std::string_view rest = metric.size() >= 2 * kPrefix ? metric.substr(kPrefix) : std::string_view();
  if (!rest.empty()) {
    std::memcpy(&begin, rest.data(), sizeof begin);
    std::memcpy(&end, metric.data() + metric.size() / 2, sizeof end);
  }
  const std::uint64_t hash = (begin ^ (end * 0x9e3779b97f4a7c15U) ^ metric.size()) * 0xff51afd7ed558ccdU;
  std::size_t place = (hash >> 32U) & (runs_.size() - 1);
  while (runs_[place].size != 0 && runs_[place].metric != metric) place = (place + 1) & (runs_.size() - 1);
  return place;
}

std::span<const MetricEvidence> MetricIndex::find(std::span<const MetricEvidence> metrics, std::string_view metric) const {
  const Run& run = runs_[place_of(metric)];
  return metrics.subspan(run.first, run.size);
}

std::span<const MetricEvidence> Evidence::samples(std::string_view metric) const {
  if (!index.is_empty()) return index.find(metrics, metric);
  const auto first = std::lower_bound(metrics.begin(), metrics.end(), metric,
                                      [](const MetricEvidence& one, std::string_view name) { return one.metric < name; });
  auto last = first;
  while (last != metrics.end() && last->metric == metric) ++last;
  return {first, last};
}

const MetricEvidence* Evidence::sample(std::string_view metric, std::string_view label) const {
  for (const MetricEvidence& one : samples(metric)) {
    if (label.empty() || one.labels[0] == label) return &one;
  }
  return nullptr;
}

std::optional<double> Evidence::value(std::string_view metric, std::string_view label) const {
  const MetricEvidence* const found = sample(metric, label);
  return found == nullptr ? std::nullopt : std::optional(found->value);
}

double Evidence::moved(std::string_view metric) const {
  double sum = 0;
  for (const MetricEvidence& one : samples(metric)) sum += one.change.recent;
  return sum;
}

const LoggedEvidence* Evidence::last_line(std::string_view event) const {
  const LoggedEvidence* const line = any_line(event);
  return line != nullptr && line->has_time && line->seconds_ago <= kLogSeconds ? line : nullptr;
}

const LoggedEvidence* Evidence::any_line(std::string_view event) const {
  const auto found =
      std::find_if(logged.begin(), logged.end(), [&](const LoggedEvidence& one) { return one.event == event; });
  return found == logged.end() ? nullptr : &*found;
}

std::optional<double> Evidence::part(std::string_view name) const { return value(kAccountMetric, name); }

const GrowthEvidence* Evidence::growth(std::string_view allocator, std::string_view name) const {
  const auto found = std::find_if(growing.begin(), growing.end(),
                                  [&](const GrowthEvidence& one) { return one.allocator == allocator && one.name == name; });
  return found == growing.end() ? nullptr : &*found;
}

bool Evidence::has(std::string_view need) const {
  const std::size_t slash = need.find('/');
  if (slash == std::string_view::npos) return !samples(need).empty();
  if (need.starts_with(kAccountPrefix)) return part(need.substr(kAccountPrefix.size())).has_value();
  const std::string_view allocator = need.substr(0, slash);
  const std::string_view name = need.substr(slash + 1);
  if (allocator == "who") return inspection(name) != nullptr;
  return std::any_of(types.begin(), types.end(), [&](const TypeEvidence& one) {
    return to_string(one.allocator) == allocator && (name == "*" || one.name == name);
  });
}

}  // namespace memstat
