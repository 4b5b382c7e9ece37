// SPDX-License-Identifier: BSD-2-Clause
// Metrics of the page allocator and of reclaim that sources of more than one system report.
#pragma once

#include "core/model/system_metric.h"

namespace memstat {

inline constexpr SystemMetric kZoneWatermarkBytes{
    .facts = {.name = "memstat_zone_watermark_bytes",
              .kind = MetricKind::kGauge,
              .tier = Tier::kDefault,
              .help = "Free bytes of the zone at which reclaim starts or stops (low, high, promo) "
                      "and below which only emergency allocations succeed (min).",
              .unit = "bytes"},
    .labels = {"node", "zone", "watermark"},
};

inline constexpr SystemMetric kPageFrees{
    .facts = {.name = "memstat_page_frees_total",
              .kind = MetricKind::kCounter,
              .tier = Tier::kDefault,
              .help = "Pages freed since boot, in all zones."},
};

inline constexpr SystemMetric kReclaimScannedPages{
    .facts = {.name = "memstat_reclaim_scanned_pages_total",
              .kind = MetricKind::kCounter,
              .tier = Tier::kDefault,
              .help = "Pages that reclaim scanned since boot, by the stalled allocation (direct), "
                      "the kernel thread (kswapd), or the queue of FreeBSD's page daemon."},
    .labels = {"by"},
};

inline constexpr SystemMetric kReclaimedPages{
    .facts = {.name = "memstat_reclaimed_pages_total",
              .kind = MetricKind::kCounter,
              .tier = Tier::kDefault,
              .help = "Pages that reclaim freed since boot, by the stalled allocation (direct), "
                      "the kernel thread (kswapd), or FreeBSD's page daemon."},
    .labels = {"by"},
};

}  // namespace memstat
