// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/snapshot/own_metrics.h"

#include <algorithm>
#include <iterator>

namespace memstat {
namespace {

using enum MetricKind;

constexpr OwnMetric kOwnMetrics[] = {
    {"memstat_boot_timestamp_seconds", kGauge, "Unix time at which the kernel started."},
    {"memstat_build_info", kGauge, "1; the labels say which memstatd this is."},
    {"memstat_config_last_reload_successful", kGauge,
     "1 when the last loading of the configuration succeeded, 0 when the one before it is in force."},
    {"memstat_finding_active", kGauge,
     "1 while memstatd finds this cause of trouble, as memstatctl why prints it, 0 when it is over; a cause has a series "
     "once "
     "it was found."},
    {"memstat_helper_up", kGauge,
     "1 while the helper process runs, which attaches to events of the kernel again after counting them took too much, or "
     "reads the kernel for FreeBSD's sandbox; 0: it is gone: restart memstatd. Absent where there is none."},
    {"memstat_kernel_info", kGauge, "1; the labels say which kernel the figures are of."},
    {"memstat_log_lines_dropped_total", kCounter,
     "Lines of the log that were dropped because the log was not read fast enough."},
    {"memstat_memory_locked", kGauge, "1 when the daemon's memory is locked against paging."},
    {"memstat_poll_age_seconds", kGauge, "Seconds since the poll began that this page is of, at the moment of the scrape."},
    {"memstat_poll_duration_seconds", kHistogram,
     "Time of a whole poll: reading all sources, committing, tracking, rendering."},
    {"memstat_poll_interval_seconds", kGauge, "Time from one poll to the next, as configured."},
    {"memstat_poll_missed_total", kCounter, "Polls that were skipped because the one before took too long."},
    {"memstat_poll_timestamp_seconds", kGauge, "Unix time of the last poll; every memory type is as of then."},
    {"memstat_recording_polls_total", kCounter,
     "Polls to be recorded that were written, failed (refused by the disk) or were dropped (the disk was too slow)."},
    {"memstat_series", kGauge, "Series of memory types on the page."},
    {"memstat_series_dropped", kGauge, "Series of memory types that series_limit keeps off the page now."},
    {"memstat_snapshots_skipped_total", kCounter, "Polls not shown because slow readers held every snapshot."},
    {"memstat_source_errors_total", kCounter, "Reads of the source that failed, by reason."},
    {"memstat_source_last_success_timestamp_seconds", kGauge, "Unix time of the last read of the source that succeeded."},
    {"memstat_source_not_permitted", kGauge,
     "1 while the source is not read because memstatd lacks the privilege that label needs names, and no type is lost "
     "without it."},
    {"memstat_source_read_bytes", kGauge, "Bytes that the kernel gave in the last read of the source."},
    {"memstat_source_read_seconds", kHistogram, "Time that a read of the source took."},
    {"memstat_source_types", kGauge, "Memory types that the source named in its last read."},
    {"memstat_source_up", kGauge,
     "1 when the last read of the source succeeded, 0 when it failed; no series while another source stands in for it or it "
     "is not permitted."},
    {"process_cpu_seconds_total", kCounter, "Total user and system CPU time spent in seconds."},
    {"process_max_fds", kGauge, "Maximum number of open file descriptors."},
    {"process_open_fds", kGauge, "Number of open file descriptors."},
    {"process_resident_memory_bytes", kGauge, "Resident memory size in bytes."},
    {"process_start_time_seconds", kGauge, "Start time of the process since unix epoch in seconds."},
    {"process_virtual_memory_bytes", kGauge, "Virtual memory size in bytes."},
};
static_assert(std::is_sorted(std::begin(kOwnMetrics), std::end(kOwnMetrics),
                             [](const OwnMetric& a, const OwnMetric& b) { return a.name < b.name; }));

}  // namespace

std::span<const OwnMetric> own_metrics() { return kOwnMetrics; }

std::string_view help_of_own_metric(std::string_view name) {
  const auto found = std::find_if(std::begin(kOwnMetrics), std::end(kOwnMetrics),
                                  [name](const OwnMetric& metric) { return metric.name == name; });
  return found == std::end(kOwnMetrics) ? std::string_view() : found->help;
}

}  // namespace memstat
