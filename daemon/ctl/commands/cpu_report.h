// SPDX-License-Identifier: BSD-2-Clause
// The figures of one type, CPU by CPU and node by node.
#pragma once

#include <string>

#include "daemon/ctl/output/output.h"
#include "daemon/ctl/source/report_source.h"

namespace memstat::ctl {

/// A line a CPU: allocations, frees, bytes allocated and freed, objects cached, as far as the kernel counts them by CPU, and
/// the CPU's share of the first of these that is not 0 everywhere, as a bar too; then the same a node. Types of one name are
/// added up. A CPU that is not there has no line. CSV has CPUs where the type has any, else nodes.
Report cpu_report(ReportSource& source, const std::string& word, Layout layout, bool is_human);

}  // namespace memstat::ctl
