// SPDX-License-Identifier: BSD-2-Clause
// What the kernel's log says of memory that ran out and of tables that were full.
#pragma once

#include <cstdint>
#include <optional>

#include "daemon/ctl/output/report_table.h"
#include "daemon/ctl/source/report_source.h"

namespace memstat::ctl {

/// `since_ns`: only events of the last that many nanoseconds before the figures were read.
Report events_report(ReportSource& source, const ReportView& view, std::optional<std::int64_t> since_ns);

}  // namespace memstat::ctl
