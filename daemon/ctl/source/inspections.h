// SPDX-License-Identifier: BSD-2-Clause
// Answers to inspections, from this machine or a recording.
#pragma once

#include <string>

#include "core/capture/replay_view.h"
#include "core/inspect/inspection.h"

namespace memstat::ctl {

/// Asks a machine; of a capture the poll that is selected, else the last one before it that has the answer. `capture`: the
/// same view where it is a capture, whose selected poll stays. Errors: those of ask().
Result<InspectionAnswer> ask_source(KernelView& view, ReplayKernelView* capture, const Inspection& inspection);

/// What the answer lacks, in one line for display; "": nothing.
std::string missing_of(const InspectionAnswer& answer, const Inspection& inspection, bool is_replay);

}  // namespace memstat::ctl
