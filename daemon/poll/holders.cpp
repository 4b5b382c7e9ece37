// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/poll/holders.h"

#include <algorithm>
#include <new>
#include <utility>

#include "core/diagnosis/culprits.h"

namespace memstat {

Holders::Asked* Holders::asked(std::string_view question) {
  const auto found =
      std::find_if(asked_.begin(), asked_.end(), [&](const Asked& one) { return one.inspection->name == question; });
  return found == asked_.end() ? nullptr : &*found;
}

namespace {

/// The answer as a table, which a recording view stores like those of `memstatctl record --who`.
class AnswerText final : public TextTableSource {
 public:
  explicit AnswerText(const InspectionAnswer& answer) : text_(write_answer(answer)) {}
  Result<void> open() override { return {}; }
  Result<void> read(Buffer& out) override {
    out.assign(text_);
    return {};
  }

 private:
  const std::string text_;
};

}  // namespace

void Holders::keep_answer(InspectionChannel::Reply reply, Asked& known, std::int64_t now_ns) {
  known.is_answered = true;
  known.asked_ns = now_ns;
  rest_end_ns_ = std::max(rest_end_ns_, now_ns) + kShare * reply.cpu_ns;
  failure_.clear();
  if (reply.answer) {
    std::erase_if(answers_, [&](const InspectionAnswer& one) { return one.question == known.inspection->name; });
    answers_.push_back(*std::move(reply.answer));
  } else {
    failure_ = "not in this answer: " + to_string(reply.answer.error());
  }
}

bool Holders::collect(std::int64_t now_ns, KernelView& view) {
  if (channel_ == nullptr) return false;
  try {
    return collect_or_throw(now_ns, view);
  } catch (const std::bad_alloc&) {  // the poll goes on without the answers
    return false;
  }
}

bool Holders::collect_or_throw(std::int64_t now_ns, KernelView& view) {
  bool has_news = false;
  while (auto reply = channel_->take()) {
    const bool is_of_limits = limits_.take(*reply, now_ns);
    Asked* const known = asked(reply->inspection->name);
    const bool is_of_finding = known != nullptr && !known->is_answered;
    if (!is_of_limits && !is_of_finding) continue;
    if (reply->answer) {
      AnswerText text(*reply->answer);
      Buffer recorded;
      (void)view.read_table(table_name(*reply->inspection), text, recorded);
    }
    if (is_of_finding) keep_answer(*std::move(reply), *known, now_ns);
    has_news = has_news || is_of_finding;
  }
  return has_news;
}

void Holders::ask_about_limits(const Evidence& evidence, std::span<const Finding> findings, std::int64_t now_ns) {
  if (channel_ == nullptr) return;
  const Inspection* const question = limits_.next(evidence, findings, now_ns);
  if (question != nullptr && channel_->ask(*question)) limits_.asked(*question, evidence, now_ns);
}

void Holders::ask(const Finding& finding, std::int64_t now_ns) {
  if (channel_ == nullptr) return;
  for (const std::string_view question : questions_about(finding)) {
    const Inspection* const inspection = find_inspection(question, os_);
    if (inspection == nullptr) continue;
    Asked* known = asked(question);
    if (known != nullptr && now_ns - known->asked_ns < kFreshNs) continue;
    if (!channel_->ask(*inspection)) continue;
    if (known == nullptr) known = &asked_.emplace_back();
    *known = {.inspection = inspection, .asked_ns = now_ns, .needed_ns = now_ns};
  }
}

void Holders::keep(std::span<const Finding> findings, std::int64_t now_ns) {
  if (asked_.empty()) return;
  for (const Finding& finding : findings) {
    for (const std::string_view question : questions_about(finding)) {
      Asked* const known = asked(question);
      if (known == nullptr) continue;
      known->needed_ns = now_ns;
      const bool is_urgent = finding.severity <= Severity::kSoon && !finding.is_past;
      if (!is_urgent || !known->is_answered || now_ns - known->asked_ns < kAgainNs || now_ns < rest_end_ns_) continue;
      if (!channel_->ask(*known->inspection)) continue;
      known->is_answered = false;
      known->asked_ns = now_ns;
    }
  }
  std::erase_if(asked_, [&](const Asked& one) {
    if (now_ns - one.needed_ns < kKeepNs) return false;
    std::erase_if(answers_, [&](const InspectionAnswer& answer) { return answer.question == one.inspection->name; });
    return true;
  });
}

void Holders::clear() {
  asked_.clear();
  answers_.clear();
  failure_.clear();
  limits_.clear();
}

std::string_view Holders::why_unasked() const {
  if (channel_ == nullptr) return why_not_;
  if (!channel_->is_alive()) return "not in this answer: the process that asks has ended";
  return failure_.empty() ? std::string_view("being asked") : failure_;
}

}  // namespace memstat
