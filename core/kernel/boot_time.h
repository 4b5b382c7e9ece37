// SPDX-License-Identifier: BSD-2-Clause
// The boot time, which is when the kernel's counters began.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/kernel/kernel_view.h"

namespace memstat {

/// Boot time of the kernel in ns since 1970; 0 if it is not reported or impossible. Reads /proc/stat or the sysctl
/// kern.boottime.
std::int64_t boot_time_ns(KernelView& view);

/// Keeps what boot_time_ns() reads open, for later calls without privileges. Call before the first read, like
/// KernelView::keep_open.
void keep_boot_time(KernelView& view);

/// The line `btime` of /proc/stat in ns; empty if it is missing or impossible.
std::optional<std::int64_t> parse_btime(std::string_view stat);

/// kern.boottime, a struct timeval with 8-byte fields, in ns; empty if it is shorter or impossible. (32-bit FreeBSD has
/// other widths; the boot time is unknown there.)
std::optional<std::int64_t> parse_boottime(std::string_view bytes);

}  // namespace memstat
