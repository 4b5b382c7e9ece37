// SPDX-License-Identifier: BSD-2-Clause
// What netstat -m prints.
#pragma once

#include "core/include/memstat.h"
#include "daemon/ctl/output/output.h"

namespace memstat::ctl {

/// The report on a list that memstat_sysctl_all filled; the same from FreeBSD 10 to 15. A kernel that lacks one of the zones
/// has no report, only a problem, as upstream.
Report mbufs_report(memory_type_list* list, bool is_json);

}  // namespace memstat::ctl
