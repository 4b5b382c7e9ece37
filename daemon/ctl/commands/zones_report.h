// SPDX-License-Identifier: BSD-2-Clause
// What vmstat -z prints: every uma(9) zone, in the order of the list.
#pragma once

#include <string>

#include "core/include/memstat.h"
#include "daemon/ctl/commands/options.h"

namespace memstat::ctl {

/// A line a zone of a list that memstat_sysctl_uma filled: name, item size in bytes, limit (items; 0: none), items in use,
/// items cached, and since boot requests, failures, waits at the limit, and (from FreeBSD 13 on) frees on another domain.
std::string zones_text(memory_type_list* list, Format format);

/// The same as JSON. Not for the format of FreeBSD 10, whose tools had none.
std::string zones_json(memory_type_list* list, Format format);

/// The same zones as comma-separated values.
std::string zones_csv(memory_type_list* list);

}  // namespace memstat::ctl
