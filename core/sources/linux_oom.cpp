// SPDX-License-Identifier: BSD-2-Clause
// Effects of memory shortage: kills, stalls, reclaim and swap traffic from /proc/vmstat ("name value" lines, mm/vmstat.c),
// and time lost from /proc/pressure/memory and io (core/parse/pressure.h). io is included because writers that the kernel
// slows down when too much is dirty wait for io, not for memory.
#include <array>
#include <cerrno>
#include <iterator>
#include <optional>

#include "core/collect/plan_reader.h"
#include "core/model/page_metrics.h"
#include "core/parse/pressure.h"
#include "core/parse/vmstat.h"
#include "core/source.h"

namespace memstat::sources::linux_oom {
namespace {

constexpr SystemMetric kAllocationStalls =
    counter_metric("memstat_allocation_stalls_total", Tier::kMinimal,
                   "Allocations since boot that stalled to reclaim memory, by the highest zone they could use.", {"zone"});

constexpr SystemMetric kReclaimThrottles =
    counter_metric("memstat_reclaim_throttles_total", Tier::kDefault,
                   "Allocations since boot that waited for reclaim because free memory was far below the min watermark.");

constexpr SystemMetric kLruScannedPages =
    counter_metric("memstat_lru_scanned_pages_total", Tier::kDefault,
                   "Pages scanned by reclaim since boot, including reclaim at control group limits, by kind.", {"kind"});

constexpr SystemMetric kLruReclaimedPages =
    counter_metric("memstat_lru_reclaimed_pages_total", Tier::kDefault,
                   "Pages freed by reclaim since boot, including reclaim at control group limits, by kind.", {"kind"});

constexpr SystemMetric kRefaultedPages =
    counter_metric("memstat_refaulted_pages_total", Tier::kDefault,
                   "Pages read again soon after their reclaim, since boot, by kind.", {"kind"});

constexpr SystemMetric kPromotedPages =
    counter_metric("memstat_promoted_pages_total", Tier::kFull,
                   "Pages moved to a node with faster memory since boot, because programs used them.");

constexpr SystemMetric kDemotedPages =
    counter_metric("memstat_demoted_pages_total", Tier::kFull,
                   "Pages that reclaim moved to a node with slower memory since boot, by who reclaimed them.", {"by"});

constexpr SystemMetric kHugePageSplits = counter_metric("memstat_huge_page_splits_total", Tier::kFull,
                                                        "Transparent huge pages split into small ones since boot.");

constexpr SystemMetric kThrottledWrites =
    counter_metric("memstat_throttled_written_pages_total", Tier::kDefault,
                   "Pages written to disk since boot while reclaim waited for such writes.");

constexpr SystemMetric kZswapPages = counter_metric(
    "memstat_zswap_pages_total", Tier::kDefault,
    "Pages that zswap stored (out), returned (in) and passed to the swap device (writeback), since boot.", {"direction"});

constexpr SystemMetric kNodeReclaimFailures =
    counter_metric("memstat_node_reclaim_failures_total", Tier::kDefault,
                   "Reclaims since boot that tried to keep an allocation on its node but freed too little.");

constexpr SystemMetric kCacheDrops =
    counter_metric("memstat_cache_drops_total", Tier::kDefault,
                   "Times since boot that an administrator dropped the kernel's caches.", {"kind"});

constexpr SystemMetric kPressureStallSeconds = counter_metric(
    "memstat_pressure_stall_seconds_total", Tier::kDefault,
    "Seconds since boot during which some or all runnable tasks waited for memory.", {"kind"}, ValueFormat::kDouble);

constexpr SystemMetric kIoPressureStallSeconds =
    counter_metric("memstat_io_pressure_stall_seconds_total", Tier::kDefault,
                   "Seconds since boot during which some or all runnable tasks waited for input and output.", {"kind"},
                   ValueFormat::kDouble);

enum File : std::size_t { kCounters, kMemoryPressure, kIoPressure };
constexpr PlannedFile kPlan[] = {
    {.path = "/proc/vmstat", .need = ReadNeed::kRequired, .is_kept_open = true},
    {.path = "/proc/pressure/memory", .is_kept_open = true},  // absent without CONFIG_PSI, and with psi=0
    {.path = "/proc/pressure/io", .is_kept_open = true},
};
constexpr auto kPaths = paths_of(kPlan);
constexpr std::string_view kCountersFile = kPaths[kCounters];

struct Counter {
  std::string_view key;
  const SystemMetric* metric;
  std::string_view label = {};
  std::string_view second_label = {};
};
/// In addition to allocstall_*. In the order of Linux 5.10; other orders only cost a little time.
constexpr Counter kVmCounters[] = {
    {"pgpromote_success", &kPromotedPages},
    {"workingset_refault", &kRefaultedPages, "file"},  // before 5.9, which counts those of anonymous memory too
    {"workingset_refault_anon", &kRefaultedPages, "anon"},
    {"workingset_refault_file", &kRefaultedPages, "file"},
    {"nr_throttled_written", &kThrottledWrites},
    {"pswpin", &kPagedPages, "swap", "in"},
    {"pswpout", &kPagedPages, "swap", "out"},
    {"pgsteal_kswapd", &kReclaimedPages, "kswapd"},
    {"pgsteal_direct", &kReclaimedPages, "direct"},
    {"pgsteal_khugepaged", &kReclaimedPages, "khugepaged"},
    {"pgsteal_proactive", &kReclaimedPages, "proactive"},
    {"pgdemote_kswapd", &kDemotedPages, "kswapd"},
    {"pgdemote_direct", &kDemotedPages, "direct"},
    {"pgdemote_khugepaged", &kDemotedPages, "khugepaged"},
    {"pgdemote_proactive", &kDemotedPages, "proactive"},
    {"pgscan_kswapd", &kReclaimScannedPages, "kswapd"},
    {"pgscan_direct", &kReclaimScannedPages, "direct"},
    {"pgscan_khugepaged", &kReclaimScannedPages, "khugepaged"},
    {"pgscan_proactive", &kReclaimScannedPages, "proactive"},
    {"pgscan_direct_throttle", &kReclaimThrottles},
    {"pgscan_anon", &kLruScannedPages, "anon"},
    {"pgscan_file", &kLruScannedPages, "file"},
    {"pgsteal_anon", &kLruReclaimedPages, "anon"},
    {"pgsteal_file", &kLruReclaimedPages, "file"},
    {"zone_reclaim_failed", &kNodeReclaimFailures},
    {"drop_pagecache", &kCacheDrops, "pagecache"},
    {"drop_slab", &kCacheDrops, "slab"},
    {"oom_kill", &kOomKills},
    {"thp_split_page", &kHugePageSplits},
    {"zswpin", &kZswapPages, "in"},
    {"zswpout", &kZswapPages, "out"},
    {"zswpwb", &kZswapPages, "writeback"},
    {"allocstall", &kAllocationStalls, "all"},  // before 4.8
};

/// The sum of the zones' counters of that name, which kernels before 4.8 have instead of one; nothing: no zone has it.
std::optional<std::uint64_t> sum_of_zones(std::string_view text, const Counter& counter) {
  const bool had_zones = counter.label == "kswapd" || counter.label == "direct";
  if (!had_zones || (counter.metric != &kReclaimedPages && counter.metric != &kReclaimScannedPages)) return std::nullopt;
  const std::string prefix = std::string(counter.key) + "_";
  ZoneCounters zones(prefix);
  static_cast<void>(read_vm_counters(text, {}, zones));  // was read without an error
  std::optional<std::uint64_t> sum;
  for (const ZoneCounters::Counter& zone : zones.counters()) {
    if (zone.zone != "throttle") sum = sum.value_or(0) + zone.value;  // pgscan_direct_throttle
  }
  return sum;
}

Result<void> parse_counters(std::string_view text, Staging& staging) {
  auto numbers = keyed_numbers(kVmCounters, &Counter::key);
  ZoneCounters stalls("allocstall_");
  if (const auto offset = read_vm_counters(text, numbers, stalls)) {
    return data_error(kCountersFile, *offset, "expected a line with a counter and its value");
  }
  StagedStatistics& statistics = staging.statistics();
  for (const ZoneCounters::Counter& counter : stalls.counters()) {
    statistics.add(kAllocationStalls, counter.value, {counter.zone});
  }
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const Counter& counter = kVmCounters[i];
    const auto value = numbers[i].value ? numbers[i].value : sum_of_zones(text, counter);
    if (value) statistics.add(*counter.metric, *value, {counter.label, counter.second_label});
  }
  if (statistics.entries().empty()) {
    return data_error(kCountersFile, text.size(),
                      "has no counters of reclaim: is this a kernel without CONFIG_VM_EVENT_COUNTERS?");
  }
  return {};
}

Result<void> parse_pressure(const RawBytes& raw, File file, const SystemMetric& metric, Staging& staging) {
  Pressure pressure;
  if (const auto offset = read_pressure(raw.content(file), pressure)) {
    return data_error(kPaths[file], *offset, "expected total= and a number of microseconds on a complete line");
  }
  const auto add = [&](const std::optional<std::uint64_t>& microseconds, std::string_view kind) {
    if (microseconds) staging.statistics().add_double(metric, static_cast<double>(*microseconds) / 1e6, {kind});
  };
  add(pressure.some, "some");
  add(pressure.full, "full");
  return {};
}

Result<void> parse(const RawBytes& raw, Staging& staging) {
  staging.reset({}, 0);
  if (auto result = parse_counters(raw.content(kCounters), staging); !result) return result;
  if (auto result = parse_pressure(raw, kMemoryPressure, kPressureStallSeconds, staging); !result) return result;
  return parse_pressure(raw, kIoPressure, kIoPressureStallSeconds, staging);
}

/// Whether the kernel counts events (CONFIG_VM_EVENT_COUNTERS). It then has all reclaim counters, otherwise none.
bool counts_events(std::string_view text) {
  const auto has = [text](std::string_view key) { return text.find(key) != std::string_view::npos; };
  return has("allocstall") || has("pgsteal_") || has("oom_kill");  // workingset_* and nr_* are not events
}

Result<void> check(const RawBytes& raw) {
  const std::string_view counters = raw.content(kCounters);
  if (!counters.starts_with("nr_free_pages ") || counts_events(counters)) return {};
  return system_error(kCountersFile, ENOENT,
                      "has no counters of reclaim: this kernel was built without CONFIG_VM_EVENT_COUNTERS");
}

constexpr MetricOrigin kOrigins[] = {
    {kOomKills, "oom_kill, of vmstat"},
    {kAllocationStalls, "allocstall_*, of vmstat (allocstall before 4.8, of all zones)"},
    {kReclaimThrottles, "pgscan_direct_throttle, of vmstat"},
    {kNodeReclaimFailures, "zone_reclaim_failed, of vmstat (CONFIG_NUMA)"},
    {kReclaimScannedPages,
     "pgscan_direct, pgscan_khugepaged, pgscan_kswapd, pgscan_proactive, of vmstat (sums over zones before 4.8)"},
    {kReclaimedPages,
     "pgsteal_direct, pgsteal_khugepaged, pgsteal_kswapd, pgsteal_proactive, of vmstat (sums over zones before 4.8)"},
    {kDemotedPages, "pgdemote_direct, pgdemote_khugepaged, pgdemote_kswapd, pgdemote_proactive, of vmstat (CONFIG_NUMA)"},
    {kPromotedPages, "pgpromote_success, of vmstat (CONFIG_NUMA_BALANCING)"},
    {kHugePageSplits, "thp_split_page, of vmstat (CONFIG_TRANSPARENT_HUGEPAGE)"},
    {kLruScannedPages, "pgscan_anon, pgscan_file, of vmstat"},
    {kLruReclaimedPages, "pgsteal_anon, pgsteal_file, of vmstat"},
    {kRefaultedPages, "workingset_refault_anon, workingset_refault_file, of vmstat (workingset_refault before 5.9)"},
    {kPagedPages, "pswpin, pswpout, of vmstat (CONFIG_SWAP)"},
    {kZswapPages, "zswpin, zswpout, zswpwb, of vmstat (CONFIG_ZSWAP)"},
    {kThrottledWrites, "nr_throttled_written, of vmstat"},
    {kCacheDrops, "drop_pagecache, drop_slab, of vmstat"},
    {kPressureStallSeconds, "total of pressure/memory (CONFIG_PSI)"},
    {kIoPressureStallSeconds, "total of pressure/io (CONFIG_PSI)"},
};

}  // namespace

extern const SourceDescriptor descriptor{
    .name = "linux_oom",
    .origin = origin_of<kPaths>(),
    .os = OperatingSystem::kLinux,
    .origins = kOrigins,
    .plan = kPlan,
    .notes =
        "kills, stalls and reclaim of the whole machine since boot; oom_kills_total counts those in control groups that "
        "reached their limit as well; stalls are by the highest zone that the allocation could have used, which need not be "
        "the zone that ran out",
    .steps = planned_steps<kPlan, parse, check>(),
};

}  // namespace memstat::sources::linux_oom
