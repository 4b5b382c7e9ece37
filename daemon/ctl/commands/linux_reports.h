// SPDX-License-Identifier: BSD-2-Clause
// What Linux kernels report of one process, and of one physical address.
#pragma once

#include <cstdint>
#include <span>

#include "core/include/memstat.h"
#include "daemon/ctl/output/output.h"

namespace memstat::ctl {

/// A line a process: its number, its name, and memory as SystemTap's proc_mem_string has it; none: memstatctl itself. Those
/// that are not there are in the problem.
Report process_report(memory_type_list* list, std::span<const int> pids, Layout layout);

/// A line an address: the NUMA node that it lies in, and the block of memory. Addresses that are no memory are in the
/// problem.
Report node_report(memory_type_list* list, std::span<const std::uint64_t> addresses, Layout layout);

}  // namespace memstat::ctl
