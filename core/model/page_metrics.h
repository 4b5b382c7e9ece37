// SPDX-License-Identifier: BSD-2-Clause
// Page allocator and reclaim metrics that sources of several systems report, or that the daemon reads.
#pragma once

#include "core/model/system_metric.h"

namespace memstat {

inline constexpr SystemMetric kZoneWatermarkBytes =
    gauge_metric("memstat_zone_watermark_bytes", Tier::kDefault,
                 "Free bytes of the zone at which reclaim starts or stops (low, high, promo) "
                 "and below which only emergency allocations succeed (min).",
                 {"node", "zone", "watermark"});

inline constexpr SystemMetric kPageFrees =
    counter_metric("memstat_page_frees_total", Tier::kDefault, "Pages freed since boot, in all zones.");

inline constexpr SystemMetric kPagedPages =
    counter_metric("memstat_paged_pages_total", Tier::kDefault,
                   "Pages that a pager (swap, vnode) moved in from or out to disk, since boot.", {"pager", "direction"});

inline constexpr SystemMetric kReclaimScannedPages =
    counter_metric("memstat_reclaim_scanned_pages_total", Tier::kDefault,
                   "Pages that reclaim scanned since boot, by the stalled allocation (direct), the kernel threads "
                   "(kswapd, khugepaged), a request (proactive), or the queue of FreeBSD's page daemon.",
                   {"by"});

inline constexpr SystemMetric kReclaimedPages =
    counter_metric("memstat_reclaimed_pages_total", Tier::kDefault,
                   "Pages that reclaim freed since boot, by the stalled allocation (direct), the kernel threads "
                   "(kswapd, khugepaged), a request (proactive), or FreeBSD's page daemon.",
                   {"by"});

inline constexpr SystemMetric kZoneLargestFreeBlock =
    gauge_metric("memstat_zone_largest_free_block_bytes", Tier::kDefault,
                 "Bytes of the largest free block in the zone now; 0 if none is free.", {"node", "zone"});

inline constexpr SystemMetric kBuddyFreeBlocks = gauge_metric(
    "memstat_buddy_free_blocks", Tier::kFull, "Free blocks of 2^order pages in the zone now.", {"node", "zone", "order"});

inline constexpr SystemMetric kSwapTotalBytes =
    gauge_metric("memstat_swap_total_bytes", Tier::kDefault, "Bytes of swap space in use or free now.");

inline constexpr SystemMetric kSwapFreeBytes =
    gauge_metric("memstat_swap_free_bytes", Tier::kDefault, "Bytes of free swap space now.");

inline constexpr SystemMetric kOomKills =
    counter_metric("memstat_oom_kills_total", Tier::kMinimal,
                   "Processes that the kernel killed since boot because memory ran out, including those in control groups.");

}  // namespace memstat
