// SPDX-License-Identifier: BSD-2-Clause
#include "core/diagnosis/culprits.h"

#include <algorithm>

#include "core/diagnosis/holder.h"
#include "core/diagnosis/words.h"

namespace memstat {
namespace {

/// Holders with less than this share of the largest one's amount are not named.
constexpr double kMinHolderShare = 0.5;
constexpr std::size_t kMaxNamed = 3;

double held_by(const Holder& holder) { return static_cast<double>(holder.bytes ? *holder.bytes : holder.count.value_or(0)); }

/// "nginx (pid 812)", "/dev/shm", "segment 3 of pid 7".
std::string name_of(const Holder& holder) {
  if (holder.pid == 0) return short_name(holder.name.empty() ? "unknown" : holder.name);
  return short_name(holder.command) + " (pid " + std::to_string(holder.pid) + ")";
}

/// "nginx (pid 812) has 9012 open files", "/dev/shm has at least 3 GiB".
Fact fact_of(const InspectionAnswer& answer, const Holder& holder) {
  std::string text = name_of(holder) + " has " + std::string(at_least(answer));
  if (holder.bytes) {
    text += bytes_text(static_cast<double>(*holder.bytes));
    if (answer.things.starts_with("of ")) text += " " + std::string(answer.things);
  } else {
    text += count_text(static_cast<double>(holder.count.value_or(0))) + " " + std::string(answer.things);
  }
  if (holder.pid != 0 && !holder.name.empty()) text += " (" + short_name(holder.name) + ")";
  return {.text = std::move(text), .source = "who/" + std::string(answer.question), .value = held_by(holder)};
}

/// The first of a kind that the cause has named; "": none.
std::string_view named(const Finding& finding, std::string_view kind) {
  const auto found = std::find_if(finding.who.begin(), finding.who.end(), [&](const auto& who) { return who.kind == kind; });
  return found == finding.who.end() ? std::string_view() : std::string_view(found->name);
}

/// memstat's own processes, which examine the others.
bool is_own(const Holder& holder) { return holder.command == "memstatctl" || holder.command.starts_with("memstatd"); }

/// Whether the holder may be the cause. A quota belongs to one user. Growth belongs to the group that was charged for it: a
/// larger holder elsewhere had its memory before.
bool is_suspect(const Finding& finding, const Holder& holder) {
  if (holder.name.find(finding.holds_as) == std::string::npos) return false;
  if (const std::string_view user = named(finding, "user"); !user.empty()) return holder.user == user;
  const bool has_grown = finding.rule != nullptr && finding.rule->watches == Watches::kGrowth;
  const std::string_view group = named(finding, "group");
  return !has_grown || group.empty() || is_within(holder.group, group);
}

/// Whether processes that cannot be examined may hold more than those in the answer.
bool is_partly_seen(const InspectionAnswer& answer) { return !answer.view.is_whole() || answer.refused != 0; }

/// Whether it is certain, or the answer complete enough, that no unseen process holds more: the holder has half of what the
/// finding is about, or is in the control group that the finding is about.
bool is_proven(const InspectionAnswer& answer, const Finding& finding, const Holder& holder) {
  if (!is_partly_seen(answer)) return true;
  const std::string_view group = named(finding, "group");
  const bool is_of_group = !finding.about.empty() && finding.about.front().allocator == "memcg";
  if (is_of_group) return group.size() > 1 && is_within(holder.group, group);
  const double all = holder.bytes ? finding.bytes : (finding.facts.empty() ? 0 : finding.facts.front().value.value_or(0));
  return all > 0 && held_by(holder) >= all / 2;
}

/// The least that a holder of growth has of it.
constexpr double kMinGrowthShare = 0.2;

/// What grew, in the unit of the holder; 0: unknown.
double grown(const Finding& finding, const Holder& holder) {
  if (finding.rule == nullptr || finding.rule->watches != Watches::kGrowth || finding.facts.empty()) return 0;
  if (holder.bytes) return finding.bytes;
  return finding.bytes > 0 ? 0 : finding.facts.front().value.value_or(0);
}

/// Whether the holder must have at least half of the finding's bytes, because all others together have too little.
bool is_sure_of_half(const InspectionAnswer& answer, const Finding& finding, const Holder& holder) {
  if (answer.is_partial() || answer.unlisted != 0) return false;
  double others = 0;
  for (const Holder& other : answer.holders) {
    if (&other != &holder) others += held_by(other);
  }
  return finding.bytes - others >= finding.bytes / 2;
}

/// The largest suspects, or nobody. memstat's own processes are named only if nobody else holds anything.
std::vector<const Holder*> largest_holders(const InspectionAnswer& answer, const Finding& finding) {
  const auto has_any = [&](auto is_wanted) { return std::any_of(answer.holders.begin(), answer.holders.end(), is_wanted); };
  const bool has_others = has_any([](const Holder& one) { return one.pid != 0 && !is_own(one); });
  std::vector<const Holder*> largest;
  for (const Holder& holder : answer.holders) {
    if (largest.size() == kMaxNamed) break;
    if ((has_others && is_own(holder)) || !is_proven(answer, finding, holder)) continue;
    const bool is_bound = finding.rule != nullptr && finding.rule->is_part_of_inspected;
    if (is_bound && !is_sure_of_half(answer, finding, holder)) continue;
    if (!is_suspect(finding, holder) || held_by(holder) < kMinGrowthShare * grown(finding, holder)) continue;
    if (held_by(holder) <= 0 || (!largest.empty() && held_by(holder) < kMinHolderShare * held_by(*largest.front()))) break;
    largest.push_back(&holder);
  }
  return largest;
}

/// "12 processes may not be examined without CAP_SYS_PTRACE", "seen from inside a container (PID namespace)".
std::string unseen_part(const InspectionAnswer& answer) {
  if (!answer.view.is_whole()) return answer.view.words();
  return counted(static_cast<double>(answer.refused), "process", "processes") + " may not be examined" +
         (answer.needs.empty() ? std::string() : " without " + std::string(answer.needs));
}

void name_holders(const InspectionAnswer& answer, Finding& finding) {
  const std::string group(named(finding, "group"));
  const std::vector<const Holder*> largest = largest_holders(answer, finding);
  if (largest.empty() && is_partly_seen(answer)) {
    finding.unnamed = "not in this answer: " + unseen_part(answer);
    finding.fact(
        {.text = "who holds it was not checked: " + unseen_part(answer), .source = "who/" + std::string(answer.question)});
  } else if (largest.empty()) {
    finding.unnamed = "no " + std::string(answer.kind) + " stands out";
  }
  for (const Holder* const holder : largest) {
    const bool is_process = holder->pid != 0;
    finding.by(is_process ? "process" : answer.kind, is_process || holder->name.empty() ? name_of(*holder) : holder->name)
        .fact(fact_of(answer, *holder));
  }
  for (const Holder* const holder : largest) {  // may be too deep to be read otherwise
    if (holder->group.size() > 1 && holder->group != group) finding.by("group", holder->group);
  }
}

/// "812" of "nginx (pid 812)"; "": none.
std::string_view pid_of(std::string_view process) {
  constexpr std::string_view kBefore = " (pid ";
  const std::size_t begin = process.rfind(kBefore);
  if (begin == std::string_view::npos || !process.ends_with(')')) return {};
  return process.substr(begin + kBefore.size(), process.size() - begin - kBefore.size() - 1);
}

/// Adds when the inspection was made, which was before the poll: "holders as of 03:10:12 UTC".
void add_time(const InspectionAnswer& answer, std::string_view what, Finding& finding) {
  constexpr std::int64_t kNsOfSecond = 1'000'000'000;
  constexpr std::int64_t kSecondsOfDay = 86'400;
  const std::int64_t seconds = answer.asked_ns / kNsOfSecond % kSecondsOfDay;
  const auto two_digits = [](std::int64_t number) { return (number < 10 ? "0" : "") + std::to_string(number); };
  finding.fact({.text = std::string(what) + " " + two_digits(seconds / 3600) + ":" + two_digits(seconds / 60 % 60) + ":" +
                        two_digits(seconds % 60) + " UTC",
                .source = "who/" + std::string(answer.question)});
}

/// Adds when the answer was made without which the cause could not be checked, if that was before the poll.
void add_time_of_evidence(const Evidence& evidence, Finding& finding) {
  if (finding.rule == nullptr || !finding.rule->is_of_limits) return;
  for (const std::string_view need : finding.rule->needs) {
    const InspectionAnswer* const answer = evidence.recent_inspection(question_in(need));
    if (answer != nullptr && evidence.is_earlier(*answer)) add_time(*answer, "counted at", finding);
  }
}

/// Fills in the process that the finding names.
void fill_in_process(Finding& finding) {
  constexpr std::string_view kPlace = " PID";
  const std::string_view pid = pid_of(named(finding, "process"));
  if (pid.empty()) return;
  for (std::string& command : finding.next) {
    const std::size_t begin = command.find(kPlace);
    if (begin != std::string::npos) command.replace(begin + 1, kPlace.size() - 1, pid);
  }
}

/// Whether this system's kernel can answer the question: some causes apply to both systems.
bool has_inspection(EvidenceSystem system, std::string_view question) {
  const auto& known = kFreeBsdQuestions;
  return !question.empty() &&
         (system == EvidenceSystem::kLinux || std::find(known.begin(), known.end(), question) != known.end());
}

/// Programs by number of processes, from an inspection that lists processes, as recordings of older versions have. Those
/// that it did not list may be of any program.
InspectionAnswer programs_of(const InspectionAnswer& processes) {
  InspectionAnswer programs{.question = "processes",
                            .kind = "program",
                            .things = "processes",
                            .looked_at = processes.looked_at,
                            .refused = processes.refused,
                            .is_cut = processes.is_cut || processes.unlisted != 0,
                            .view = processes.view,
                            .parts = {},
                            .holders = {}};
  for (const Holder& process : processes.holders) {
    if (process.pid == 0) continue;
    const auto same = std::find_if(programs.holders.begin(), programs.holders.end(), [&](const Holder& one) {
      return one.name == process.command && one.user == process.user;
    });
    Holder& program = same != programs.holders.end() ? *same : programs.holders.emplace_back();
    program.name = process.command;
    program.user = process.user;
    program.count = program.count.value_or(0) + 1;
  }
  std::stable_sort(programs.holders.begin(), programs.holders.end(),
                   [](const Holder& a, const Holder& b) { return held_by(a) > held_by(b); });
  return programs;
}

/// The answer about what holds the finding, or else the one that recordings of older versions have; nullptr: neither.
const InspectionAnswer* answer_about(const Evidence& evidence, const Finding& finding, InspectionAnswer& derived) {
  const InspectionAnswer* const answer = evidence.answer_about_holders(finding.inspection);
  if (answer != nullptr || finding.rule == nullptr || finding.rule->older_inspection.empty()) return answer;
  const InspectionAnswer* const older = evidence.inspection(finding.rule->older_inspection);
  if (older == nullptr || finding.inspection != "processes") return older;
  derived = programs_of(*older);
  return &derived;
}

}  // namespace

void add_share(const InspectionAnswer& answer, Finding& finding) {
  const std::string seen = seen_text(answer);
  if (!answer.is_cut || seen.empty()) return;
  const std::string source = "who/" + std::string(answer.question);
  const std::string text = "examined: " + seen;
  const auto is_said = [&](const Fact& fact) { return fact.source == source && fact.text == text; };
  if (std::any_of(finding.facts.begin(), finding.facts.end(), is_said)) return;
  finding.fact({.text = text,
                .source = source,
                .value = static_cast<double>(answer.seen.value_or(0)),
                .limit = answer.total ? std::optional(static_cast<double>(*answer.total)) : std::nullopt});
}

void name_culprits(const Evidence& evidence, Findings& findings) {
  for (Finding& finding : findings) {
    add_time_of_evidence(evidence, finding);
    if (!has_inspection(evidence.system, finding.inspection)) continue;
    const std::string command = "memstatctl who " + std::string(finding.inspection);
    if (std::find(finding.next.begin(), finding.next.end(), command) == finding.next.end()) {
      finding.next.insert(finding.next.begin(), command);
    }
    // If the finding names a killed process, the processes still running are not the cause.
    if (!named(finding, "process").empty()) continue;
    InspectionAnswer derived;
    const InspectionAnswer* const answer = answer_about(evidence, finding, derived);
    if (answer == nullptr) {
      finding.unnamed = evidence.why_unasked;
      continue;
    }
    name_holders(*answer, finding);
    add_share(*answer, finding);
    if (answer != &derived && evidence.is_earlier(*answer)) add_time(*answer, "holders as of", finding);
  }
  for (Finding& finding : findings) fill_in_process(finding);
}

std::vector<std::string_view> questions_about(const Finding& finding) {
  std::vector<std::string_view> questions;
  if (!finding.inspection.empty()) questions.push_back(finding.inspection);
  // The groups of all processes show which group below the named one has any.
  if (!named(finding, "group").empty()) questions.insert(questions.end(), {"anonymous", "groups"});
  return questions;
}

namespace {

void add_once(std::string_view question, std::vector<std::string_view>& questions) {
  if (std::find(questions.begin(), questions.end(), question) == questions.end()) questions.push_back(question);
}

/// Adds the questions among `names`, which are needs or uses of a cause.
void add_questions(std::span<const std::string_view> names, EvidenceSystem system,
                   std::vector<std::string_view>& questions) {
  for (const std::string_view name : names) {
    if (has_inspection(system, question_in(name))) add_once(question_in(name), questions);
  }
}

}  // namespace

std::vector<std::string_view> questions_of(const Findings& findings, EvidenceSystem system) {
  std::vector<std::string_view> questions;
  for (const Finding& finding : findings) {
    for (const std::string_view question : questions_about(finding)) add_once(question, questions);
  }
  for_each_cause([&](const Cause& cause) {
    if (!is_of_system(cause, system)) return;
    add_questions(cause.needs, system, questions);
    add_questions(cause.uses, system, questions);
  });
  return questions;
}

std::vector<std::string_view> questions_about_limits(EvidenceSystem system) {
  std::vector<std::string_view> questions;
  for_each_cause([&](const Cause& cause) {
    if (cause.is_of_limits && is_of_system(cause, system)) add_questions(cause.needs, system, questions);
  });
  return questions;
}

}  // namespace memstat
