// SPDX-License-Identifier: BSD-2-Clause
// The findings of a poll.
#include <algorithm>
#include <utility>

#include "core/base/free_heap.h"
#include "core/diagnosis/culprits.h"
#include "core/diagnosis/urgent.h"
#include "daemon/poll/poller.h"

namespace memstat {
namespace {

/// add_growth() needs megabytes, and returns little.
void search_growth(const Snapshot& snapshot, const History& history, Evidence& evidence) {
  add_growth(snapshot, history, evidence);
  give_back_free_heap();
}

}  // namespace

void Poller::look_for_growth(std::int64_t now_ns) {
  constexpr std::int64_t kMinInterval = 300'000'000'000;
  constexpr std::int64_t kShareOfPolls = 50;
  if (now_ns < growth_due_ns_ || polling_ns_ < kShareOfPolls * growth_took_ns_) return;
  const std::shared_ptr<const RenderedSnapshot> snapshot = pool_.current();
  if (snapshot == nullptr) return;
  const std::int64_t begin_ns = clock_.monotonic_ns();
  search_growth(*snapshot, history_, growth_);
  growth_took_ns_ = clock_.monotonic_ns() - begin_ns;
  growth_due_ns_ = now_ns + kMinInterval;
  polling_ns_ = 0;
}

void Poller::note_evidence_and_select(const RenderOptions& rendered, std::int64_t now_ns, Snapshot& snapshot) {
  if (std::exchange(has_new_states_, false)) note_unread_sources();
  const EvidenceSystem system = view_->os() == OperatingSystem::kLinux ? EvidenceSystem::kLinux : EvidenceSystem::kFreeBsd;
  const bool is_filtered = !config_.filters.include.empty() || !config_.filters.exclude.empty();
  if (options_.is_replay && options_.renders) search_growth(snapshot, history_, growth_);  // its last poll stays
  if (holders_.collect(now_ns, *view_)) active_.reword();
  EvidenceBuilder::EvidenceInput beside{.system = system,
                                        .page_bytes = static_cast<double>(view_->page_size()),
                                        .is_filtered = is_filtered,
                                        .sources = unread_,
                                        .holders = holders_.answers(),
                                        .limits = holders_.limits(),
                                        .why_unasked = holders_.why_unasked(),
                                        .growth = &growth_};
  if (options_.recorded_answer) beside.complete = [this](Evidence& evidence) { add_recorded_answers(evidence); };
  evidence_.update(snapshot, beside, now_ns);
  const Evidence& evidence = evidence_.current()->evidence;
  find_causes(evidence, findings_);
  complete_findings(evidence, findings_);
  if (options_.renders) publish_findings(now_ns, snapshot.realtime_ns);
  note_urgent(evidence);
  if (config_.finding_limits) {
    holders_.ask_about_limits(evidence, findings_, now_ns);
  } else {
    holders_.forget_limits();
  }
  if (selection_.choose(rendered, now_ns, builder_->listings(), snapshot)) snapshot.keep_rows(selection_.kept());
}

/// Findings that have just become urgent, and kills that were counted at this poll, although their finding is not new.
void Poller::note_urgent(const Evidence& evidence) {
  urgent_.assign(active_.turned_now().begin(), active_.turned_now().end());
  add_new_kills(evidence, findings_, urgent_);
}

std::vector<std::string> Poller::groups_in_danger() const {
  const std::shared_ptr<const PollEvidence> built = evidence_.current();
  return built == nullptr ? std::vector<std::string>() : memstat::groups_in_danger(built->evidence, findings_);
}

/// Adds the answers that `memstatctl why` would look for in this capture.
void Poller::add_recorded_answers(Evidence& evidence) {
  find_causes(evidence, findings_);
  for (const std::string_view question : questions_of(findings_, evidence.system)) {
    const Inspection* const inspection = find_inspection(question, view_->os());
    if (inspection == nullptr) continue;
    if (auto answer = options_.recorded_answer(*inspection)) evidence.inspections.push_back(*std::move(answer));
  }
}

void Poller::publish_findings(std::int64_t now_ns, std::int64_t realtime_ns) {
  const bool has_changed = active_.update(findings_, now_ns, realtime_ns);
  for (const std::size_t begun : active_.begun()) holders_.ask(findings_[begun], now_ns);
  holders_.keep(findings_, now_ns);
  if (has_changed || std::exchange(has_finding_info_, config_.finding_info) != config_.finding_info) publish_series();
}

void Poller::name_incident(std::string_view cause, std::string_view object, std::string_view incident) {
  if (active_.name_incident(cause, object, incident)) publish_series();
}

void Poller::publish_series() {
  series_.clear();
  for (const ActiveFindings::Entry& entry : active_.entries()) {
    if (!entry.is_listed) continue;
    series_.push_back({.cause = entry.cause,
                       .object = entry.object,
                       .level = entry.level,
                       .begun = entry.begun,
                       .headline = entry.headline,
                       .culprit = entry.culprit,
                       .next = entry.next,
                       .since = entry.since,
                       .certainty = to_string(entry.certainty),
                       .incident = entry.incident});
  }
  metrics_.findings(series_, active_.dropped(), config_.finding_info);
}

Diagnosis Poller::diagnosis() const {
  const std::shared_ptr<const PollEvidence> built = evidence_.current();
  return built == nullptr ? Diagnosis{} : diagnose(built->evidence);
}

Diagnosis Poller::fresh_diagnosis(const Snapshot& snapshot, std::vector<InspectionAnswer> answers) const {
  const std::shared_ptr<const PollEvidence> built = evidence_.current();
  if (built == nullptr) return {};
  Evidence evidence = built->evidence;
  search_growth(snapshot, history_, evidence);
  evidence.inspections = std::move(answers);
  return diagnose(evidence);
}

}  // namespace memstat
