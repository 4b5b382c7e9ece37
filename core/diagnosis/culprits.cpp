// SPDX-License-Identifier: BSD-2-Clause
#include "core/diagnosis/culprits.h"

#include <algorithm>

#include "core/diagnosis/words.h"

namespace memstat {
namespace {

/// Holders with less than this share of the largest one's amount are not named.
constexpr double kLeastShare = 0.5;
constexpr std::size_t kMaxNamed = 3;

double held_by(const Holder& holder) { return static_cast<double>(holder.bytes ? *holder.bytes : holder.count.value_or(0)); }

/// "nginx (pid 812)", "/dev/shm", "segment 3 of pid 7".
std::string name_of(const Holder& holder) {
  if (holder.pid == 0) return short_name(holder.name.empty() ? "unknown" : holder.name);
  return short_name(holder.command) + " (pid " + std::to_string(holder.pid) + ")";
}

/// "nginx (pid 812) has 9012 open files", "/dev/shm has 3 GiB".
Fact fact_of(const InspectionAnswer& answer, const Holder& holder) {
  std::string text = name_of(holder) + " has ";
  if (holder.bytes) {
    text += bytes_text(static_cast<double>(*holder.bytes));
    if (answer.things.starts_with("of ")) text += " " + std::string(answer.things);
  } else {
    text += count_text(static_cast<double>(holder.count.value_or(0))) + " " + std::string(answer.things);
  }
  if (holder.pid != 0 && !holder.name.empty()) text += " (" + short_name(holder.name) + ")";
  return {.text = std::move(text), .source = "who/" + std::string(answer.question), .value = held_by(holder)};
}

void name_holders(const InspectionAnswer& answer, Finding& finding) {
  if (answer.holders.empty() || held_by(answer.holders.front()) <= 0) return;
  const double least = kLeastShare * held_by(answer.holders.front());
  const std::size_t count = std::min(answer.holders.size(), kMaxNamed);
  for (std::size_t i = 0; i < count && held_by(answer.holders[i]) >= least; ++i) {
    const Holder& holder = answer.holders[i];
    finding.by(holder.pid != 0 ? "process" : answer.kind, name_of(holder)).fact(fact_of(answer, holder));
  }
  const std::string& group = answer.holders.front().group;
  const bool has_group =
      std::any_of(finding.who.begin(), finding.who.end(), [](const auto& who) { return who.kind == "group"; });
  if (!has_group && group.size() > 1) finding.by("group", group);
}

/// Whether a kernel of the other system, whose causes are partly the same, can answer it as well.
bool can_ask(EvidenceSystem system, std::string_view question) {
  const auto& known = kFreeBsdQuestions;
  return !question.empty() &&
         (system == EvidenceSystem::kLinux || std::find(known.begin(), known.end(), question) != known.end());
}

}  // namespace

void name_culprits(const Evidence& evidence, Findings& findings) {
  for (Finding& finding : findings) {
    if (!can_ask(evidence.system, finding.asks)) continue;
    const std::string command = "memstatctl who " + std::string(finding.asks);
    if (std::find(finding.next.begin(), finding.next.end(), command) == finding.next.end()) {
      finding.next.insert(finding.next.begin(), command);
    }
    if (const InspectionAnswer* const answer = evidence.inspection(finding.asks)) name_holders(*answer, finding);
  }
}

std::vector<std::string_view> questions_of(const Findings& findings, EvidenceSystem system) {
  std::vector<std::string_view> questions;
  const auto ask = [&](std::string_view question) {
    if (question.empty() || std::find(questions.begin(), questions.end(), question) != questions.end()) return;
    questions.push_back(question);
  };
  for (const Finding& finding : findings) ask(finding.asks);
  constexpr std::string_view kInspection = "who/";
  for_each_cause([&](const Cause& cause) {
    if (!is_of_system(cause, system)) return;
    for (const std::string_view need : cause.needs) {
      if (need.starts_with(kInspection)) ask(need.substr(kInspection.size()));
    }
  });
  return questions;
}

}  // namespace memstat
