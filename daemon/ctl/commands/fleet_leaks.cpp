// SPDX-License-Identifier: BSD-2-Clause
// memstatctl leaks --hosts.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/amount_text.h"
#include "daemon/ctl/commands/reports.h"
#include "daemon/ctl/source/fleet_leaks.h"

namespace memstat::ctl {
namespace {

constexpr std::size_t kMaxNamed = 3;

constexpr std::array<ReportColumn, 10> kFleetColumns{
    {{.key = "allocator", .title = "ALLOCATOR"},
     {.key = "type", .title = "TYPE", .least = 12},
     {.key = "group", .title = "GROUP", .least = 10},
     {.key = "hosts", .title = "HOSTS", .unit = Unit::kNumber},
     {.key = "compared", .title = "OF", .unit = Unit::kNumber},
     {.key = "bytes_per_hour", .title = "PER HOUR", .unit = Unit::kBytes, .has_sign = true},
     {.key = "clarity", .title = "CLARITY", .unit = Unit::kNumber, .rank = 2},
     {.key = "", .title = "ON", .rank = 1, .least = 16},
     {.key = "host_names", .title = ""},
     {.key = "with", .title = "WITH", .rank = 3}}};

}  // namespace

ReportTable fleet_leaks_table(const FleetLeaks& found) {
  ReportTable table("growing", kFleetColumns, 2);
  table.add_head("seconds", found.seconds);
  table.add_head("hosts", std::uint64_t{found.hosts.size()});
  for (const FleetLeak& leak : found.leaks) {
    const auto host_of = [&](std::size_t host) { return found.hosts[host]; };
    const std::span<const std::size_t> first(leak.hosts.data(), std::min(leak.hosts.size(), kMaxNamed));
    const std::string more =
        leak.hosts.size() > kMaxNamed ? " and " + std::to_string(leak.hosts.size() - kMaxNamed) + " more" : "";
    const FleetType& type = found.types[leak.type];
    constexpr double kTenths = 10;
    table.add({type.allocator, type.name, cell_of_text(leak.group), std::uint64_t{leak.hosts.size()},
               std::uint64_t{leak.compared}, std::llround(leak.bytes_per_hour), std::round(leak.clarity * kTenths) / kTenths,
               leak.is_of_group ? std::string("the group as a whole") : separated(first, ", ", host_of) + more,
               separated(leak.hosts, ", ", host_of),
               cell_of_text(separated(leak.with, ", ", [&](std::size_t other) { return found.types[other].name; }))});
  }
  return table;
}

Report fleet_leaks_report(const CommandLine& options, double seconds) {
  PrometheusServer server(*options.from, options.server);
  FleetLeaks found = fleet_leaks(server, seconds, options.group_by.empty() ? "release" : options.group_by);
  if (!found.problem.empty()) return {.problem = found.problem};
  ReportTable table = fleet_leaks_table(found);
  const std::string within =
      count_text(static_cast<double>(found.hosts.size())) + " hosts within " + duration_words(found.seconds);
  Report report;
  if (options.view.layout == Layout::kText && table.empty()) {
    report.output = "nothing grows on some of " + within + " as it does not on the others\n";
  } else {
    report = report_of(std::move(table), options.view);
    if (options.view.layout == Layout::kText && report.problem.empty())
      report.output.insert(0, "what grows on some of " + within + ", and not on the others:\n");
  }
  report.notes = std::move(found.notes);
  report.missing = std::move(found.missing);
  return report;
}

}  // namespace memstat::ctl
