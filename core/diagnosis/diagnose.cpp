// SPDX-License-Identifier: BSD-2-Clause
#include "core/diagnosis/diagnose.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <tuple>

#include "core/diagnosis/culprits.h"
#include "core/diagnosis/deeper_group.h"
#include "core/diagnosis/growth_ranking.h"
#include "core/diagnosis/pod_names.h"
#include "core/diagnosis/scope.h"
#include "core/diagnosis/words.h"

namespace memstat {

std::string_view to_string(Severity severity) {
  constexpr std::string_view kWords[] = {"now", "soon", "wasteful", "notable"};
  return kWords[static_cast<std::size_t>(severity)];
}

std::string_view to_string(Certainty certainty) {
  constexpr std::string_view kWords[] = {"confirmed", "likely", "possible"};
  return kWords[static_cast<std::size_t>(certainty)];
}

double confidence_of(Certainty certainty) {
  constexpr double kNumbers[] = {0.95, 0.8, 0.5};
  return kNumbers[static_cast<std::size_t>(certainty)];
}

const Cause* find_cause(std::string_view name) {
  const Cause* found = nullptr;
  for_each_cause([&](const Cause& cause) {
    if (cause.name == name) found = &cause;
  });
  return found;
}

std::span<const std::string_view> metrics_of_causes() {
  static const std::vector<std::string_view> kMetrics = [] {
    std::vector<std::string_view> metrics{"memstat_accounted_bytes", "memstat_partial_view"};
    const auto take = [&](std::span<const std::string_view> names) {
      for (const std::string_view name : names) {
        if (name.starts_with("memstat_")) metrics.push_back(name);
      }
    };
    for_each_cause([&](const Cause& cause) {
      take(cause.needs);
      take(cause.uses);
    });
    take(kPodMetrics);
    std::sort(metrics.begin(), metrics.end());
    metrics.erase(std::unique(metrics.begin(), metrics.end()), metrics.end());
    return metrics;
  }();
  return kMetrics;
}

namespace {

bool shares_subject(const Finding& a, const Finding& b) {
  return std::any_of(a.about.begin(), a.about.end(), [&](const Finding::About& one) {
    return std::find(b.about.begin(), b.about.end(), one) != b.about.end();
  });
}

/// Whether a group named by `symptom` is named by `root`, or below such a group.
bool is_of_group(const Finding& root, const Finding& symptom) {
  return std::any_of(root.who.begin(), root.who.end(), [&](const Finding::Who& inner) {
    return inner.kind == "group" && std::any_of(symptom.who.begin(), symptom.who.end(), [&](const Finding::Who& outer) {
             const std::string& group = outer.name;
             return outer.kind == "group" && inner.name.starts_with(group) &&
                    (inner.name.size() == group.size() || inner.name[group.size()] == '/');
           });
  });
}

bool watches(const Finding& finding, Watches what) { return finding.rule != nullptr && finding.rule->watches == what; }

/// The least share of what it explains that a cause holds itself.
constexpr double kMinCovered = 0.1;

/// Whether the memory of `root` is a good part of that of `symptom`, as far as both are known.
bool covers(const Finding& root, const Finding& symptom) {
  return root.bytes <= 0 || symptom.bytes <= 0 || root.bytes >= kMinCovered * symptom.bytes;
}

/// Whether a part of memory is large because it grows. The general cause, memory_growth, does not name the part, so the
/// level's finding comes first.
bool has_grown_to(const Finding& growth, const Finding& level) {
  return watches(growth, Watches::kGrowth) && growth.cause != "memory_growth" && watches(level, Watches::kLevel) &&
         !growth.about.empty() && !level.about.empty() && growth.about.front().allocator == kAccountAllocator &&
         growth.about.front() == level.about.front() && covers(growth, level);
}

/// Whether `level` says what the part is that memory_growth only says to grow.
bool says_what_grows(const Finding& level, const Finding& growth) {
  return growth.cause == "memory_growth" && watches(level, Watches::kLevel) && !level.about.empty() &&
         !growth.about.empty() && level.about.front() == growth.about.front();
}

/// Whether the cause of `root` lists that of `symptom` as explained. What was over before the first poll explains nothing
/// that holds now.
bool lists(const Finding& root, const Finding& symptom) {
  const Cause* const cause = root.rule;
  if (cause == nullptr || symptom.cause == root.cause || (root.is_past && !symptom.is_past)) return false;
  const auto has = [&](std::span<const std::string_view> causes) {
    return std::find(causes.begin(), causes.end(), symptom.cause) != causes.end();
  };
  return has(cause->explains) || (has(cause->explains_of_group) && is_of_group(root, symptom));
}

bool is_root_of(const Finding& root, const Finding& symptom) {
  return lists(root, symptom) || says_what_grows(root, symptom) || (has_grown_to(root, symptom) && !lists(symptom, root));
}

bool is_general(const Finding& finding) { return finding.rule != nullptr && finding.rule->is_general; }

/// Whether `root` is about one type of the allocator, and `symptom` about any type of it.
bool is_more_specific(const Finding& root, const Finding& symptom) {
  return is_general(symptom) && !symptom.about.empty() &&
         std::any_of(root.about.begin(), root.about.end(),
                     [&](const Finding::About& one) { return one.allocator == symptom.about.front().allocator; });
}

/// Whether `root` makes `symptom` redundant. `root` precedes it in the ranking.
bool explains(const Finding& root, const Finding& symptom) {
  return (shares_subject(root, symptom) && covers(root, symptom)) || is_root_of(root, symptom) ||
         is_more_specific(root, symptom);
}

/// Lost messages harm the program that does not read them; what takes memory or refuses requests may harm all others.
Severity urgency_of(const Finding& finding) {
  const bool is_loss = finding.rule != nullptr && finding.rule->is_of_messages;
  return is_loss ? std::max(finding.severity, Severity::kWasteful) : finding.severity;
}

auto rank_of(const Finding& finding) {
  const double left =
      finding.severity == Severity::kSoon ? finding.seconds_left.value_or(std::numeric_limits<double>::max()) : 0;
  return std::tuple(is_general(finding), urgency_of(finding), finding.is_past, finding.is_paused, left, finding.certainty,
                    -finding.bytes, -finding.refused);
}

/// Growth is as urgent as what it leads to, and is the cause: of its group's limit, or of how large a part of memory is.
bool takes_severity(const Finding& root, const Finding& symptom) {
  const bool is_measured = root.bytes > 0 && symptom.bytes > 0;
  const bool is_all_of_it = is_measured ? root.bytes >= symptom.bytes : shares_subject(root, symptom);
  const bool is_of_root = lists(root, symptom) || says_what_grows(root, symptom);
  if (symptom.severity == Severity::kSoon && is_of_root && is_all_of_it) return true;
  if (root.severity != Severity::kNotable) return false;
  if (symptom.severity == Severity::kSoon) return is_of_group(root, symptom);
  return symptom.severity == Severity::kWasteful && watches(root, Watches::kGrowth);
}

/// Moves a root that is ranked below its symptom before it: programs stall because memory is short, not vice versa.
void put_roots_first(Findings& found) {
  for (std::size_t i = 1; i < found.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (!is_root_of(found[i], found[j])) continue;
      if (found[i].severity > found[j].severity) {
        if (!takes_severity(found[i], found[j])) continue;
        found[i].severity = found[j].severity;
        found[i].seconds_left = found[j].seconds_left;
      }
      std::rotate(found.begin() + static_cast<std::ptrdiff_t>(j), found.begin() + static_cast<std::ptrdiff_t>(i),
                  found.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      break;
    }
  }
}

/// A control group's bytes are also counted by other allocators.
bool is_of_groups(const Finding& finding) {
  return !finding.about.empty() && finding.about.front().allocator == to_string(Allocator::kMemcg);
}

void leave_out_symptoms(Findings& found) {
  for (std::size_t i = 0; i < found.size(); ++i) {
    std::vector<Finding::About> explained;
    for (std::size_t j = i + 1; j < found.size();) {
      if (!explains(found[i], found[j])) {
        ++j;
        continue;
      }
      if (!is_of_groups(found[j]) && !shares_subject(found[i], found[j])) found[i].bytes += found[j].bytes;
      found[i].explains.push_back(std::move(found[j].headline));
      for (std::string& one : found[j].explains) found[i].explains.push_back(std::move(one));
      for (Finding::About& one : found[j].about) {
        if (std::find(found[i].about.begin(), found[i].about.end(), one) == found[i].about.end()) {
          explained.push_back(std::move(one));
        }
      }
      found.erase(found.begin() + static_cast<std::ptrdiff_t>(j));
    }
    // This comes last, because a finding is not explained merely by sharing a type with a symptom.
    std::move(explained.begin(), explained.end(), std::back_inserter(found[i].about));
  }
}

/// Among findings of equal urgency and certainty, puts those first that concern the most memory, including symptoms.
void put_largest_first(Findings& found) {
  const auto kind = [](const Finding& finding) {
    return std::tuple(is_general(finding), urgency_of(finding), finding.is_past, finding.is_paused,
                      finding.severity == Severity::kSoon ? finding.seconds_left.value_or(0) : 0, finding.certainty);
  };
  for (auto begin = found.begin(); begin != found.end();) {
    const auto end = std::find_if(begin, found.end(), [&](const Finding& one) { return kind(one) != kind(*begin); });
    std::stable_sort(begin, end, [](const Finding& a, const Finding& b) { return a.bytes > b.bytes; });
    begin = end;
  }
}

bool provides(const SourceEvidence& source, std::string_view need) {
  const std::size_t slash = need.find('/');
  if (slash != std::string_view::npos) return need.substr(0, slash) == to_string(source.allocator);
  return std::find(source.metrics.begin(), source.metrics.end(), need) != source.metrics.end();
}

/// Why the cause cannot be ruled out; "" if it can.
std::string why_not_checked(const Evidence& evidence, const Cause& cause) {
  for (const std::string_view need : cause.needs) {
    const std::string_view question = question_in(need);
    if (question.empty() ? evidence.has(need) : answer_for(cause, evidence, question) != nullptr) continue;
    if (!question.empty()) return "memstatctl who " + std::string(question) + " was not run";
    std::string why = std::string(need) + " is not available";
    for (const SourceEvidence& source : evidence.sources) {
      if (!source.needs.empty() && provides(source, need))
        return why + "; memstatd lacks " + source.needs + " for " + source.name;
    }
    return why;
  }
  if (cause.watches == Watches::kChange && evidence.polls < 2) return "needs at least two polls";
  if (cause.watches == Watches::kGrowth && evidence.growth_polls == 0) {
    return "too few polls to distinguish growth from chance" +
           (evidence.polls >= kMinGrowthPoints
                ? std::string()
                : ": " + std::to_string(evidence.polls) + " of " + std::to_string(kMinGrowthPoints));
  }
  if (std::string why = why_unseen(evidence, cause); !why.empty()) return why;
  return std::string(cause.blind_to);
}

}  // namespace

void find_causes(const Evidence& evidence, Findings& found) {
  found.clear();
  for_each_cause([&](const Cause& cause) {
    if (is_of_system(cause, evidence.system)) cause.look(evidence, cause, found);
  });
  if (found.empty()) return;
  for (Finding& finding : found) finding.headline = cut_text(finding.headline, kMaxHeadline);
  std::stable_sort(found.begin(), found.end(), [](const Finding& a, const Finding& b) { return rank_of(a) < rank_of(b); });
  // Each is compared with all others, and nobody reads more: a capture can claim any number of full groups.
  if (found.size() > kMaxFindings) found.erase(found.begin() + static_cast<std::ptrdiff_t>(kMaxFindings), found.end());
  put_roots_first(found);
  leave_out_symptoms(found);
  put_largest_first(found);
}

void complete_findings(const Evidence& evidence, Findings& findings) {
  name_culprits(evidence, findings);
  if (evidence.system != EvidenceSystem::kLinux) return;
  name_deeper_groups(evidence, findings);
  name_pods(evidence, findings);
}

Diagnosis diagnose(const Evidence& evidence) {
  Diagnosis diagnosis;
  diagnosis.view = evidence.view;
  diagnosis.watched_seconds = evidence.watched_seconds;
  diagnosis.polls = evidence.polls;
  Findings all;
  for_each_cause([&](const Cause& cause) {
    if (!is_of_system(cause, evidence.system)) return;
    all.clear();
    cause.look(evidence, cause, all);
    if (!all.empty()) return;
    if (std::string why = why_not_checked(evidence, cause); why.empty()) {
      diagnosis.ruled_out.emplace_back(cause.name);
    } else {
      diagnosis.not_checked.push_back({std::string(cause.name), std::move(why)});
    }
  });
  find_causes(evidence, diagnosis.findings);
  // A line of the log may show a cause whose own evidence does not.
  const auto is_found = [&](std::string_view cause) {
    return std::any_of(diagnosis.findings.begin(), diagnosis.findings.end(),
                       [&](const Finding& finding) { return finding.cause == cause; });
  };
  std::erase_if(diagnosis.ruled_out, is_found);
  std::erase_if(diagnosis.not_checked, [&](const NotChecked& one) { return is_found(one.cause); });
  complete_findings(evidence, diagnosis.findings);
  return diagnosis;
}

}  // namespace memstat
