// SPDX-License-Identifier: BSD-2-Clause
// Answers to inspections, from this machine or a recording.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "core/capture/replay_view.h"
#include "core/inspect/inspection.h"
#include "daemon/ctl/output/progress.h"

namespace memstat::ctl {

/// Remembers the answers of a capture, so that following its polls parses each once.
class AnswerFinder {
 public:
  /// Asks a machine. For a capture, returns the answer of the selected poll, or of the last one before it that has an
  /// answer. `capture`: the same view if it is a capture; its selected poll does not change. Errors: those of answer_of().
  Result<InspectionAnswer> find(KernelView& view, ReplayKernelView* capture, const Inspection& inspection,
                                const InspectionBounds& bounds = {});

 private:
  struct Known {
    std::size_t until = 0;                        ///< All polls up to this one have been searched.
    std::optional<InspectionAnswer> answer = {};  ///< The last of them.
  };
  Result<InspectionAnswer> last_answer(KernelView& view, ReplayKernelView& capture, const Inspection& inspection);

  std::map<const Inspection*, Known> known_;
};

/// Limits for a person who waits, and is shown how far it is.
InspectionBounds bounds_with(Progress& progress, const Inspection& inspection, std::int64_t max_wall_ns = kPatienceNs);

/// The missing parts of the answer, in one line for display; "": none.
std::string missing_of(const InspectionAnswer& answer, const Inspection& inspection, bool is_replay);

}  // namespace memstat::ctl
