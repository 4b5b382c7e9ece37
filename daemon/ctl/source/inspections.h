// SPDX-License-Identifier: BSD-2-Clause
// Answers of inspections, from this machine or a recording.
#pragma once

#include <string>

#include "core/capture/replay_view.h"
#include "core/inspect/inspection.h"

namespace memstat::ctl {

/// Asks a machine. For a capture: the selected poll, or else the last earlier one with the answer. `capture`: the same
/// view if it is a capture; its selected poll does not change. Errors: those of ask().
Result<InspectionAnswer> ask_source(KernelView& view, ReplayKernelView* capture, const Inspection& inspection);

/// What the answer lacks, in one line for display; "": nothing.
std::string missing_of(const InspectionAnswer& answer, const Inspection& inspection, bool is_replay);

}  // namespace memstat::ctl
