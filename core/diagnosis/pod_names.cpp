// SPDX-License-Identifier: BSD-2-Clause
#include "core/diagnosis/pod_names.h"

#include <algorithm>
#include <string>

#include "core/diagnosis/holder.h"

namespace memstat {
namespace {

constexpr std::size_t kShortId = 12;  // as docker ps and crictl ps print it

/// The sample of the innermost pod or container that the group is or is in; nullptr: in none.
const MetricEvidence* container_of(const Evidence& evidence, std::string_view group) {
  const MetricEvidence* found = nullptr;
  for (const MetricEvidence& sample : evidence.samples(kPodMetrics[0])) {
    if (!is_within(group, sample.labels[0])) continue;
    if (found == nullptr || sample.labels[0].size() > found->labels[0].size()) found = &sample;
  }
  return found;
}

std::string pod_words(const Evidence& evidence, std::string_view uid) {
  const MetricEvidence* const pod = evidence.sample(kPodMetrics[1], uid);
  return pod == nullptr ? "pod " + std::string(uid)
                        : "pod " + std::string(pod->labels[2]) + " in namespace " + std::string(pod->labels[1]);
}

std::string words_of(const Evidence& evidence, const MetricEvidence& container) {
  const auto& [group, uid, id, runtime] = container.labels;
  if (id.empty()) return pod_words(evidence, uid);
  std::string words = "container " + std::string(id.substr(0, kShortId));
  if (!runtime.empty()) words += " of " + std::string(runtime);
  return uid.empty() ? words : words + ", " + pod_words(evidence, uid);
}

}  // namespace

void name_pods(const Evidence& evidence, Findings& findings) {
  for (Finding& finding : findings) {
    std::string_view group;
    for (const Finding::Who& one : finding.who) {
      if (one.kind == "group" && one.name.size() > group.size()) group = one.name;
    }
    const MetricEvidence* const container = group.empty() ? nullptr : container_of(evidence, group);
    if (container != nullptr) finding.fact({.text = words_of(evidence, *container), .source = std::string(kPodMetrics[0])});
  }
}

}  // namespace memstat
