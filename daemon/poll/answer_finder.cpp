// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/poll/answer_finder.h"

namespace memstat {

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

}  // namespace memstat
