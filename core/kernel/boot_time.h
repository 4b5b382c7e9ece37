// SPDX-License-Identifier: BSD-2-Clause
// When the kernel started, which is when its counters began.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/kernel/kernel_view.h"

namespace memstat {

/// Nanoseconds since 1970 at which the kernel shown started; 0 when it does not report it, or reports an impossible time.
/// Reads /proc/stat or the sysctl kern.boottime.
std::int64_t boot_time_ns(KernelView& view);

/// Makes later calls of boot_time_ns work, too, when files cannot be opened any more. Before the first read, as
/// KernelView::keep_open.
void keep_boot_time(KernelView& view);

/// Line `btime` of /proc/stat, in nanoseconds; nothing when there is no such line, or no possible time in it.
std::optional<std::int64_t> parse_btime(std::string_view stat);

/// kern.boottime, a struct timeval with fields of 8 bytes, in nanoseconds; nothing when it is shorter, or no possible time.
/// (FreeBSD on 32-bit machines has other widths: their boot time is not known.)
std::optional<std::int64_t> parse_boottime(std::string_view bytes);

}  // namespace memstat
