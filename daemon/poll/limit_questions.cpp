// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/poll/limit_questions.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/diagnosis/culprits.h"

namespace memstat {
namespace {

/// Objects of the table that grows with what is counted; -1: unknown.
double objects_of_table(const Inspection& question, const Evidence& evidence) {
  const TypeEvidence* const table = question.table.empty() ? nullptr : evidence.type(Allocator::kTable, question.table);
  return table == nullptr ? -1 : table->objects.value_or(-1);
}

/// Whether the finding could not have been made without the answer.
bool rests_on(const Finding& finding, std::string_view question) {
  if (finding.rule == nullptr || !finding.rule->is_of_limits) return false;
  return std::any_of(finding.rule->needs.begin(), finding.rule->needs.end(),
                     [&](std::string_view need) { return question_in(need) == question; });
}

}  // namespace

LimitQuestions::LimitQuestions(OperatingSystem os) {
  const bool is_linux = os == OperatingSystem::kLinux;
  for (const std::string_view name : questions_about_limits(is_linux ? EvidenceSystem::kLinux : EvidenceSystem::kFreeBsd)) {
    if (const Inspection* const question = find_inspection(name, os)) turns_.push_back({.question = question});
  }
}

bool LimitQuestions::is_urgent(const Turn& turn, const Evidence& evidence, std::span<const Finding> findings) {
  const double gain = objects_of_table(*turn.question, evidence) - turn.objects;
  if (turn.objects >= 0 && gain >= std::max(kMinGain, kMinGainShare * turn.objects)) return true;
  return std::any_of(findings.begin(), findings.end(),
                     [&](const Finding& finding) { return rests_on(finding, turn.question->name); });
}

const Inspection* LimitQuestions::next(const Evidence& evidence, std::span<const Finding> findings, std::int64_t now_ns) {
  if (pending_ != nullptr && now_ns - asked_ns_ < kMaxReplyNs) return nullptr;
  pending_ = nullptr;
  const Turn* oldest = nullptr;
  for (Turn& turn : turns_) {
    if (turn.objects < 0) turn.objects = objects_of_table(*turn.question, evidence);
    turn.is_urgent = is_urgent(turn, evidence, findings);
    const std::int64_t wait_ns =
        turn.is_cut ? (turn.is_urgent ? kAgainNs : kCutNs) : (turn.is_urgent ? kUrgentNs : kAgainNs);
    if (turn.asked_ns != kNever && now_ns - turn.asked_ns < wait_ns) continue;
    if (!turn.is_urgent && now_ns < pause_end_ns_) continue;
    if (oldest == nullptr || turn.asked_ns < oldest->asked_ns) oldest = &turn;
  }
  return oldest == nullptr || now_ns < rest_end_ns_ ? nullptr : oldest->question;
}

void LimitQuestions::asked(const Inspection& question, const Evidence& evidence, std::int64_t now_ns) {
  for (Turn& turn : turns_) {
    if (turn.question != &question) continue;
    if (!turn.is_urgent) pause_end_ns_ = now_ns + kPauseNs;
    turn.asked_ns = asked_ns_ = now_ns;
    turn.objects = objects_of_table(question, evidence);
    pending_ = &question;
  }
}

bool LimitQuestions::take(const InspectionChannel::Reply& reply, std::int64_t now_ns) {
  if (pending_ == nullptr || pending_ != reply.inspection) return false;
  pending_ = nullptr;
  rest_end_ns_ = now_ns + kShare * reply.cpu_ns;
  for (Turn& turn : turns_) {
    if (turn.question == reply.inspection) turn.is_cut = reply.answer && reply.answer->is_cut;
  }
  std::vector<InspectionAnswer> answers;
  if (answers_ != nullptr) answers = *answers_;
  std::erase_if(answers, [&](const InspectionAnswer& one) { return one.question == reply.inspection->name; });
  if (reply.answer) answers.push_back(*reply.answer);
  answers_ = std::make_shared<const std::vector<InspectionAnswer>>(std::move(answers));
  return true;
}

void LimitQuestions::clear() {
  for (Turn& turn : turns_) turn = {.question = turn.question};
  pending_ = nullptr;
  pause_end_ns_ = rest_end_ns_ = kNever;
  answers_.reset();
}

}  // namespace memstat
