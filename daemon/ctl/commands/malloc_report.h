// SPDX-License-Identifier: BSD-2-Clause
// What vmstat -m prints: the malloc(9) types that were ever used, in the order of the list, oldest first.
#pragma once

#include <string>

#include "core/include/memstat.h"
#include "daemon/ctl/commands/options.h"

namespace memstat::ctl {

/// A line a type of a list that memstat_sysctl_malloc filled: name, allocations in use, memory, requests since boot, size
/// classes that served it (none when all its allocations were larger than the largest class). Memory is in bytes in the
/// format of FreeBSD 15, where `is_human` shortens all figures; before, it is in KiB, rounded up.
std::string malloc_text(memory_type_list* list, Format format, bool is_human);

/// The same as JSON; `memory-use` is in bytes in the format of FreeBSD 15 and in KiB before. Not for the format of FreeBSD
/// 10, whose tools had none.
std::string malloc_json(memory_type_list* list, Format format);

/// The same types as comma-separated values: whole numbers, bytes.
std::string malloc_csv(memory_type_list* list);

}  // namespace memstat::ctl
