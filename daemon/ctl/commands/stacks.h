// SPDX-License-Identifier: BSD-2-Clause
// Who allocated what the kernel has in use: blocks by stack, and which of them look like leaks.
#pragma once

#include <string>

#include "core/events/memuse/memuse.h"
#include "core/events/memuse/memuse_groups.h"
#include "daemon/ctl/commands/options.h"
#include "daemon/ctl/output/output.h"

namespace memstat::ctl {

/// What the reports are made of. Thread safety: a plain value.
struct MemuseFindings {
  events::MemuseTable table;
  MemuseOptions options;
  events::NameOfCaller name_of;
};

/// A paragraph a group, with `options.frames` frames, and what is to be known about all of them. `is_human`: bytes as 2.3M.
std::string memuse_text(const MemuseFindings& findings, bool is_human);
/// The same as JSON, with every group.
std::string memuse_json(const MemuseFindings& findings);
/// A line a stack, the outermost call first, and its bytes in use: what flame graphs are drawn from.
std::string memuse_folded(const MemuseFindings& findings);

/// Watches this machine's kernel for so long, or until a signal comes, and reports.
Report memuse_report(const CommandLine& options);

}  // namespace memstat::ctl
