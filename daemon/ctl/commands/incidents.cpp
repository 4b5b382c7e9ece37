// SPDX-License-Identifier: BSD-2-Clause
// What was killed, failed or ran out, newest first.
#include <array>

#include "daemon/ctl/commands/reports.h"
#include "daemon/ctl/commands/shared_options.h"
#include "daemon/ctl/source/incident_files.h"

namespace memstat::ctl {
namespace {

constexpr std::array<ReportColumn, 17> kIncidentColumns{{{.key = "incident", .title = "N", .unit = Unit::kNumber},
                                                         {.key = "time", .title = "TIME", .unit = Unit::kTime},
                                                         {.key = "headline", .title = "WHAT HAPPENED", .least = 24},
                                                         {.key = "killed", .title = "KILLED", .rank = 2, .least = 10},
                                                         {.key = "killer", .title = "BY", .rank = 3},
                                                         {.key = "culprit", .title = "WHO HELD", .rank = 1, .least = 12},
                                                         {.key = "cause", .title = "CAUSE", .rank = 4},
                                                         {.key = "object", .title = ""},
                                                         {.key = "certainty", .title = ""},
                                                         {.key = "next", .title = ""},
                                                         {.key = "evidence", .title = ""},
                                                         {.key = "effect", .title = ""},
                                                         {.key = "polls", .title = "", .unit = Unit::kNumber},
                                                         {.key = "left_out", .title = "", .unit = Unit::kNumber},
                                                         {.key = "bytes", .title = "", .unit = Unit::kBytes},
                                                         {.key = "file", .title = ""},
                                                         {.key = "problem", .title = ""}}};

constexpr auto kIncidentOptions =
    joined(std::array{valued(
               "--from", "DIRECTORY|URL",
               "A directory of incidents, or a running memstatd; by default the one on\nthis machine, or without it "
               "the directory of the configuration's default",
               [](CommandLine& line, const std::string& text) { line.from = meant_reference(text); }, check_from_anywhere)},
           kReportOptions);

Report run_incidents(const CommandLine& options) {
  const FoundIncidents found = find_incidents(options.from);
  if (!found.problem.empty()) return {.problem = found.problem};
  ReportTable table("incidents", kIncidentColumns);
  std::uint64_t number = 0;
  for (const Incident& one : found.list.incidents) {
    const std::string& what = one.problem.empty() ? one.headline : one.problem;
    table.add({++number, one.realtime_ns == 0 ? Cell() : Cell(one.realtime_ns), cell_of_text(what), cell_of_text(one.killed),
               cell_of_text(one.killer), cell_of_text(one.culprit), cell_of_text(one.cause), cell_of_text(one.object),
               cell_of_text(one.certainty), cell_of_text(one.next), cell_of_text(one.evidence), cell_of_text(one.effect),
               one.polls, one.left_out, one.bytes, one.file, cell_of_text(one.problem)});
  }
  const bool is_empty = table.empty();
  Report report;
  if (!is_empty || options.view.layout != Layout::kText) report = report_of(std::move(table), options.view);
  if (!found.list.problem.empty()) {
    report.missing.push_back("no incidents are kept: " + found.list.problem);
  } else if (is_empty) {
    report.notes.push_back("nothing was killed, failed or ran out since incidents are kept in " + found.list.directory);
  }
  return report;
}

}  // namespace

const Command kIncidentsCommand{"incidents",
                                Group::kLook,
                                "What was killed, failed or ran out, with the polls before it",
                                "memstatctl incidents\n"
                                "memstatctl why --incident 1",
                                kIncidentOptions,
                                run_incidents};

}  // namespace memstat::ctl
