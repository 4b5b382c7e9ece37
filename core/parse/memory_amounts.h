// SPDX-License-Identifier: BSD-2-Clause
// Single amounts of memory in files that report other things, too.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/arithmetic.h"

namespace memstat {

using Amount = std::optional<std::uint64_t>;  ///< Nothing: not reported.

inline Amount sum_of(Amount a, Amount b) {
  return a || b ? Amount(saturating_sum(a.value_or(0), b.value_or(0))) : std::nullopt;
}

/// The figures are not read at the same instant, so the larger one may have become the smaller one.
inline Amount without(Amount whole, Amount part) { return whole ? Amount(without(*whole, part.value_or(0))) : std::nullopt; }
inline Amount times(Amount count, std::uint64_t size) {
  std::uint64_t product = 0;
  if (!count || __builtin_mul_overflow(*count, size, &product)) return std::nullopt;
  return product;
}

/// Pages of all zones of /proc/zoneinfo. Nothing if the text is truncated or malformed.
struct ZoneAmounts {
  Amount cpu_pages;  ///< On per-CPU lists: "count: N" below "cpu: N".
  /// Withheld from programs: the watermark "min N" and the largest number of "protection: (N, N)", at most "managed N".
  Amount reserve;
};
ZoneAmounts read_zone_amounts(std::string_view zoneinfo);

/// What programs can still get of a machine's memory, in bytes.
struct MachineAmounts {
  std::uint64_t sure = 0;    ///< Free memory above the reserve, and file cache that is not locked.
  std::uint64_t kernel = 0;  ///< Kernel memory such as dentries, of which the kernel gives back what is not in use.
  std::uint64_t swap_free = 0;
  bool has_zswap = false;  ///< Some of the swap is kept in memory.
};
/// Nothing if /proc/meminfo lacks MemFree or the lines of file cache, or /proc/zoneinfo was not read.
std::optional<MachineAmounts> read_machine_amounts(std::string_view meminfo, const ZoneAmounts& zones,
                                                   std::uint64_t page_size);

/// Pages of all TCP and UDP sockets in /proc/net/sockstat: "TCP: inuse N orphan N tw N alloc N mem N". Nothing if neither
/// line has them.
Amount count_socket_pages(std::string_view sockstat);

/// B that the driver of Hyper-V took, in lines such as "pages_ballooned       : 3276800" and "page_size : 4096"
/// (drivers/hv/hv_balloon.c, hv_balloon_debug_show).
Amount hyperv_bytes(std::string_view text);

/// Parses "N" or, if tracing was never used, "N (expanded: N)", in kB.
Amount tracing_bytes(std::string_view text);

/// B of one pool, from "hugepages-2048kB" and its number of pages.
Amount pool_bytes(std::string_view directory, std::string_view pages);

}  // namespace memstat
