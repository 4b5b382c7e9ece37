// SPDX-License-Identifier: BSD-2-Clause
// Evidence of machines that do not exist, for tests of causes.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/diagnosis/diagnose.h"

namespace memstat {

inline InspectionAnswer answer_to(std::string_view question, std::vector<Holder> holders) {
  InspectionAnswer answer;
  answer.question = question;
  answer.holders = std::move(holders);
  return answer;
}

/// A healthy machine with 16 GiB, watched for five minutes in 31 polls, to which a test adds its problem.
class EvidenceOfMachine {
 public:
  static constexpr double kGiB = 1024.0 * 1024 * 1024;
  static constexpr double kMiB = 1024.0 * 1024;

  explicit EvidenceOfMachine(EvidenceSystem system = EvidenceSystem::kLinux) {
    evidence.system = system;
    evidence.polls = 31;
    evidence.watched_seconds = evidence.recent_seconds = 300;
    evidence.uptime_seconds = 1e6;
    evidence.total_bytes = 16 * kGiB;
    evidence.available_bytes = 8 * kGiB;
    evidence.growth_polls = 31;
  }

  TypeEvidence& type(Allocator allocator, std::string_view name) {
    TypeEvidence& type = evidence.types.emplace_back();
    type.allocator = allocator;
    type.name = name;
    return type;
  }
  /// A type that has `used` of `limit` objects.
  TypeEvidence& limited(Allocator allocator, std::string_view name, double used, double limit) {
    TypeEvidence& one = type(allocator, name);
    one.objects = used;
    one.limit_objects = limit;
    one.limit_used = used / limit;
    return one;
  }
  MetricEvidence& metric(std::string_view name, double value, std::vector<std::string_view> labels = {}) {
    MetricEvidence one{.metric = name, .labels = {}, .value = value, .change = {}};
    std::copy(labels.begin(), labels.end(), one.labels.begin());
    const auto place = std::upper_bound(evidence.metrics.begin(), evidence.metrics.end(), name,
                                        [](std::string_view a, const MetricEvidence& b) { return a < b.metric; });
    return *evidence.metrics.insert(place, one);
  }
  /// A counter that moved lately.
  MetricEvidence& moved(std::string_view name, double change, std::vector<std::string_view> labels = {}) {
    MetricEvidence& one = metric(name, change + 100, std::move(labels));
    one.change = {.total = change + 100, .since_start = change, .recent = change};
    return one;
  }
  MetricEvidence& part(std::string_view name, double bytes) { return metric("memstat_accounted_bytes", bytes, {name}); }
  GrowthEvidence& growing(std::string_view allocator, std::string_view name, double now, double gain, double seconds) {
    GrowthEvidence& growth = evidence.growing.emplace_back();
    growth.allocator = allocator;
    growth.name = name;
    growth.now = growth.all_now = now;
    growth.gain = gain;
    growth.seconds = seconds;
    growth.per_second = gain / seconds;
    return growth;
  }

  [[nodiscard]] Findings find() const {
    Findings found;
    find_causes(evidence, found);
    for (const Finding& finding : found) {
      EXPECT_LE(finding.headline.size(), kMaxHeadline);
      EXPECT_NE(find_cause(finding.cause), nullptr) << finding.cause;
      EXPECT_FALSE(finding.facts.empty()) << finding.cause;
      EXPECT_EQ(finding.severity == Severity::kSoon, finding.seconds_left.has_value()) << finding.cause;
    }
    return found;
  }
  /// "now cgroup_oom_kill", "soon slab_leak": the findings in order, separated by commas.
  [[nodiscard]] std::string words() const {
    std::string words;
    for (const Finding& finding : find()) {
      words += (words.empty() ? "" : ", ") + std::string(to_string(finding.severity)) + " " + finding.cause;
    }
    return words;
  }

  Evidence evidence;
};

/// Whether the diagnosis lists the cause as ruled out, or as not checked.
inline bool is_ruled_out(const Evidence& evidence, std::string_view cause) {
  const std::vector<std::string> names = diagnose(evidence).ruled_out;
  return std::find(names.begin(), names.end(), cause) != names.end();
}

}  // namespace memstat
