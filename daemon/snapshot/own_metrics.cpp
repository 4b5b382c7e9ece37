// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/snapshot/own_metrics.h"

#include <algorithm>
#include <iterator>

namespace memstat {
namespace {

using enum MetricKind;

constexpr OwnMetric kOwnMetrics[] = {
    {"memstat_boot_timestamp_seconds", kGauge, "Unix time at which the kernel started."},
    {"memstat_build_info", kGauge, "Always 1; the labels describe this memstatd."},
    {"memstat_config_last_reload_successful", kGauge,
     "1 if the last load of the configuration succeeded, 0 if it failed and the previous one remains in force."},
    {"memstat_finding", kGauge,
     "Level of a finding of memstatctl why: 4 failing now, 3 failing soon, 2 wasteful, 1 notable, 0 ended within the last "
     "hour."},
    {"memstat_finding_info", kGauge, "Always 1 while a finding is active; the labels describe it."},
    {"memstat_findings_dropped", kGauge, "Findings of the last poll without a series, because 32 others have one."},
    {"memstat_findings_total", kCounter, "Findings that became active since memstatd started, by cause."},
    {"memstat_helper_up", kGauge,
     "1 while the helper process runs, which attaches to kernel events again, or reads the kernel for FreeBSD's sandbox; 0 "
     "if it is gone, so that memstatd must be restarted; absent if there is none."},
    {"memstat_incidents_total", kCounter,
     "Incidents since memstatd started, by cause: what was killed, failed or ran out, with the polls before it."},
    {"memstat_kernel_info", kGauge, "Always 1; the labels describe the kernel that the figures are from."},
    {"memstat_log_lines_dropped_total", kCounter,
     "Log lines dropped because the log was not read fast enough, since memstatd started."},
    {"memstat_memory_locked", kGauge, "1 if the daemon's memory is locked against paging."},
    {"memstat_poll_age_seconds", kGauge, "Seconds from the start of the page's poll to the scrape."},
    {"memstat_poll_duration_seconds", kHistogram,
     "Duration of a poll: reading all sources, committing, tracking, rendering."},
    {"memstat_poll_interval_seconds", kGauge, "Configured seconds from one poll to the next."},
    {"memstat_poll_missed_total", kCounter, "Polls skipped because the previous one took too long, since memstatd started."},
    {"memstat_poll_timestamp_seconds", kGauge, "Unix time of the last poll, which all memory types are from."},
    {"memstat_recording_polls_total", kCounter,
     "Polls to be recorded since memstatd started, by outcome: written, failed (rejected by the disk) or dropped (the disk "
     "was too slow)."},
    {"memstat_series", kGauge, "Series of memory types on the page."},
    {"memstat_series_dropped", kGauge, "Series of memory types omitted from the page now because of series_limit."},
    {"memstat_snapshots_skipped_total", kCounter,
     "Polls not published because slow readers held every snapshot, since memstatd started."},
    {"memstat_source_errors_total", kCounter, "Failed reads of the source since memstatd started, by reason."},
    {"memstat_source_last_success_timestamp_seconds", kGauge, "Unix time of the last successful read of the source."},
    {"memstat_source_not_permitted", kGauge,
     "1 while the source is not read because memstatd lacks the privilege named by the label needs; no type is lost without "
     "it."},
    {"memstat_source_read_bytes", kGauge, "Bytes returned by the last read of the source."},
    {"memstat_source_read_seconds", kHistogram, "Duration of reads of the source."},
    {"memstat_source_types", kGauge, "Memory types in the last read of the source."},
    {"memstat_source_up", kGauge,
     "1 if the last read of the source succeeded, 0 if it failed; absent while another source replaces it, or it is not "
     "permitted."},
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
