// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/source/inspections.h"

#include <unistd.h>

#include "core/diagnosis/words.h"

namespace memstat::ctl {

Result<InspectionAnswer> AnswerFinder::last_answer(KernelView& view, ReplayKernelView& capture,
                                                   const Inspection& inspection) {
  const std::size_t selected = capture.selected_poll();
  Known& known = known_[&inspection];
  if (known.until > selected) known = {};  // an earlier poll than before
  auto answer = answer_of(view, inspection);
  for (std::size_t poll = selected; !answer && answer.error().code == ErrorCode::kNotPresent && poll > known.until;) {
    (void)capture.select_poll(--poll);  // within poll_count()
    answer = answer_of(view, inspection);
  }
  (void)capture.select_poll(selected);
  if (answer) {
    known.answer = *answer;
  } else if (answer.error().code == ErrorCode::kNotPresent && known.answer) {
    answer = *known.answer;
  }
  known.until = selected;
  return answer;
}

Result<InspectionAnswer> AnswerFinder::find(KernelView& view, ReplayKernelView* capture, const Inspection& inspection,
                                            const InspectionBounds& bounds) {
  if (capture == nullptr) return answer_of(view, inspection, nullptr, bounds);
  const std::size_t selected = capture->selected_poll();
  auto answer = last_answer(view, *capture, inspection);
  for (std::size_t poll = 0; answer && inspection.is_about_new && poll < selected; ++poll) {
    (void)capture->select_poll(poll);
    const auto first = answer_of(view, inspection);
    if (!first) continue;
    if (first->asked_ns != answer->asked_ns) remove_known(*answer, *first);
    break;
  }
  (void)capture->select_poll(selected);
  return answer;
}

namespace {

std::string refused_part(const InspectionAnswer& answer, const Inspection& inspection, bool is_replay) {
  const std::string processes = "at least " + counted(static_cast<double>(answer.refused), "process", "processes");
  if (is_replay) {
    return "not in this capture, because the user who recorded it may not examine them: " + processes +
           "; record it as root";
  }
  const std::string needs(inspection.needs.empty() ? "CAP_SYS_PTRACE" : inspection.needs);  // where /proc hides them
  return "not in this answer, because you may not examine them: " + processes +
         (::geteuid() == 0 ? "; root here lacks " + needs + ", or a container or a security module forbids it"
                           : "; run memstatctl as root (it needs " + needs + ")");
}

}  // namespace

InspectionBounds bounds_with(Progress& progress, const Inspection& inspection, std::int64_t max_wall_ns) {
  InspectionBounds bounds{.max_wall_ns = max_wall_ns};
  bounds.on_object = [&progress, &inspection](const InspectionAnswer& answer) {
    if (!progress.is_due()) return;
    const std::string seen = answer.seen ? std::to_string(*answer.seen) : std::to_string(answer.looked_at);
    const std::string total = answer.total ? " of " + std::to_string(*answer.total) : "";
    progress.show("who " + std::string(inspection.name) + ": examined " + seen + total + " " +
                  std::string(answer.seen && !inspection.parts.empty() ? inspection.parts : "objects"));
  };
  return bounds;
}

std::string missing_of(const InspectionAnswer& answer, const Inspection& inspection, bool is_replay) {
  std::string line;
  if (!answer.view.is_whole()) {
    line = "not in this answer: the rest of the machine, not checked: " + answer.view.words() + "; " +
           (is_replay ? "to record it, " : "") + answer.view.permit();
  }
  if (answer.refused != 0) line += (line.empty() ? "" : "; also ") + refused_part(answer, inspection, is_replay);
  if (answer.is_cut) {
    const std::string seen = seen_text(answer);
    line += (line.empty() ? "not in this answer: " : "; also ") + std::string("everything beyond the first ") +
            (seen.empty() ? counted(static_cast<double>(answer.looked_at), "object") : seen) +
            (is_replay ? ", when the time for the question was up"
                       : ", when the time for the question was up; --for 1m gives it a minute");
  }
  return line;
}

}  // namespace memstat::ctl
