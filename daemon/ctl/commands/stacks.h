// SPDX-License-Identifier: BSD-2-Clause
// Blocks in use by the call chain that allocated them, and which of them look like leaks.
#pragma once

#include <string>

#include "core/events/memuse/memuse.h"
#include "core/events/memuse/memuse_groups.h"
#include "daemon/ctl/commands/options.h"
#include "daemon/ctl/output/output.h"

namespace memstat::ctl {

/// The input of the reports.
struct MemuseFindings {
  events::MemuseTable table;
  MemuseOptions options;
  events::NameOfCaller name_of;
};

/// A paragraph for each group, with `options.frames` frames, and a summary. `is_human`: bytes as 2.3M.
std::string memuse_text(const MemuseFindings& findings, bool is_human);
/// Same, as JSON with every group.
std::string memuse_json(const MemuseFindings& findings);
/// A line for each stack in the format for flame graphs: outermost call first, then the bytes in use.
std::string memuse_folded(const MemuseFindings& findings);

/// Watches this machine's kernel for the requested time, or until a signal, and reports.
Report memuse_report(const CommandLine& options);

}  // namespace memstat::ctl
