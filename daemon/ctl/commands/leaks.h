// SPDX-License-Identifier: BSD-2-Clause
// What grows steadily, ranked: over the polls of a capture, over some seconds of a live kernel, or over what a memstatd
// remembers.
#pragma once

#include <cstdint>

#include "daemon/ctl/commands/poll_walk.h"
#include "daemon/ctl/output/output.h"
#include "daemon/ctl/output/report_table.h"
#include "daemon/ctl/source/growth_answer.h"

namespace memstat::ctl {

/// A row for each that grows, fastest first; JSON has the window before them.
ReportTable leaks_table(const GrowthAnswer& answer);

struct LeakOptions {
  WalkOptions walk;
  std::int64_t remembered_seconds = 7200;  ///< How far back a memstatd is asked.
  ReportView view;
};
Report leaks_report(ReportSource& source, const LeakOptions& options);

}  // namespace memstat::ctl
