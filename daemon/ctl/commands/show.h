// SPDX-License-Identifier: BSD-2-Clause
// All that is known of one type: its values, those by CPU and by node, what it had before, and what it is.
#pragma once

#include <string>

#include "daemon/ctl/output/report_table.h"
#include "daemon/ctl/source/report_source.h"

namespace memstat::ctl {

/// `word`: as find_named_type takes it. Comma-separated values are those by CPU, or by node where there are none by CPU.
Report show(ReportSource& source, const std::string& word, const ReportView& view);

}  // namespace memstat::ctl
