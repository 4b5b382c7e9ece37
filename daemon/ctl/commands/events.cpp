// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/reports.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "daemon/ctl/commands/shared_options.h"

namespace memstat::ctl {
namespace {

constexpr std::array<ReportColumn, 7> kLogColumns{{{.key = "time", .title = "TIME", .unit = Unit::kTime},
                                                   {.key = "seconds_since_boot", .title = "", .unit = Unit::kNumber},
                                                   {.key = "event", .title = "EVENT"},
                                                   {.key = "command", .title = "COMMAND", .rank = 1, .least = 8},
                                                   {.key = "group", .title = "GROUP", .rank = 2, .least = 12},
                                                   {.key = "line", .title = "LINE", .rank = 3, .least = 20},
                                                   {.key = "context", .title = ""}}};

std::string field_of(const EventRow& row, std::string_view name) {
  for (const EventRow::Field& field : row.fields) {
    if (field.name == name) return field.value;
  }
  return {};
}

constexpr auto kEventsOptions = joined(
    std::array{
        kKernelOption, kFromAnywhereOption,
        valued("--since", "DURATION", "Only events within this time before the log was read", set_window, check_window)},
    kReportOptions);

Report run_events(const CommandLine& options) {
  const OpenedSource opened = open_source(options.from);
  if (opened.source == nullptr) return {.problem = opened.problem};
  return events_report(*opened.source, options.view, options.window_ns);
}

}  // namespace

Report events_report(ReportSource& source, const ReportView& view, std::optional<std::int64_t> since_ns) {
  const Sample sample = source.read();
  Report report = report_on(sample);
  EventsAnswer answer = source.events();
  report.problem = std::move(answer.problem);
  const bool is_refused = std::any_of(report.missing.begin(), report.missing.end(),
                                      [](const std::string& line) { return line.find("_kernel_log") != std::string::npos; });
  if (report.problem.empty() && !answer.has_log && is_refused) return report;
  if (report.problem.empty() && !answer.has_log) {
    report.problem = sample.is_failed() ? sample.problem : "the kernel's log was not read; memstatctl doctor shows why";
  }
  if (!report.problem.empty()) return report;
  ReportTable table("events", kLogColumns, 3);
  for (const EventRow& row : answer.events) {
    const std::optional<std::int64_t> time_ns =
        row.time ? std::optional(static_cast<std::int64_t>(*row.time * 1e9)) : std::nullopt;
    if (since_ns && time_ns && *time_ns < sample.time_ns - *since_ns) continue;
    table.add({cell_of(time_ns), cell_of(row.since_boot), row.event, cell_of_text(field_of(row, "command")),
               cell_of_text(field_of(row, "group")), cell_of_text(row.lines.empty() ? "" : row.lines.front()),
               cell_of_text(row.lines.size() < 2 ? "" : row.lines[1])});
  }
  if (table.empty() && view.layout == Layout::kText) {
    report.output = "the kernel's log has no such event\n";
    return report;
  }
  Report made = report_of(std::move(table), view);
  report.output = std::move(made.output);
  report.problem = std::move(made.problem);
  return report;
}

const Command kEventsCommand{"events",
                             Group::kLook,
                             "Kills, failed allocations and full tables that the kernel's log reports",
                             "memstatctl events --since 1h\n"
                             "memstatctl events --from bug.tar.zst --json",
                             kEventsOptions,
                             run_events};

}  // namespace memstat::ctl
