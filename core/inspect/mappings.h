// SPDX-License-Identifier: BSD-2-Clause
// Mappings of all processes, from /proc/PID/maps.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "core/inspect/processes.h"

namespace memstat {

/// Calls `use(process, text)` with the content of /proc/PID/maps of each of these processes that may be read.
void read_mappings(Inspector& inspector, const std::vector<Process>& processes,
                   const std::function<void(const Process&, std::string_view)>& use);

/// Calls `visit(target, bytes)` for each mapping of a process, with its name in /proc/PID/maps, such as
/// "anon_inode:[io_uring]", and `leave(process)` after its last one. Errors: as list_processes().
using VisitMapping = std::function<void(std::string_view, std::uint64_t)>;
Result<void> walk_mappings(Inspector& inspector, const VisitMapping& visit,
                           const std::function<void(const Process&)>& leave);

}  // namespace memstat
