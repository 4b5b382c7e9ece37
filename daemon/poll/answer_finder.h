// SPDX-License-Identifier: BSD-2-Clause
// Answers to inspections, from this machine or a recording.
#pragma once

#include <cstddef>
#include <map>
#include <optional>

#include "core/capture/replay_view.h"
#include "core/inspect/inspection.h"

namespace memstat {

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

}  // namespace memstat
