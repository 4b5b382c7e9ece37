// SPDX-License-Identifier: BSD-2-Clause
// What was killed, failed or ran out, newest first.
#include <algorithm>
#include <array>

#include "core/base/amount_text.h"
#include "core/diagnosis/words.h"
#include "daemon/ctl/commands/reports.h"
#include "daemon/ctl/commands/shared_options.h"
#include "daemon/ctl/source/incident_files.h"
#include "daemon/ctl/source/type_figures.h"

namespace memstat::ctl {
namespace {

constexpr std::array<ReportColumn, 15> kIncidentColumns{{{.key = "incident", .title = "N", .unit = Unit::kNumber},
                                                         {.key = "time", .title = "TIME", .unit = Unit::kTime},
                                                         {.key = "headline", .title = "WHAT HAPPENED", .least = 24},
                                                         {.key = "killed", .title = "KILLED", .rank = 2, .least = 10},
                                                         {.key = "killer", .title = "BY", .rank = 3},
                                                         {.key = "culprit", .title = "WHO HELD", .rank = 1, .least = 12},
                                                         {.key = "cause", .title = "CAUSE", .rank = 4},
                                                         {.key = "object", .title = ""},
                                                         {.key = "certainty", .title = ""},
                                                         {.key = "next", .title = ""},
                                                         {.key = "polls", .title = "", .unit = Unit::kNumber},
                                                         {.key = "left_out", .title = "", .unit = Unit::kNumber},
                                                         {.key = "bytes", .title = "", .unit = Unit::kBytes},
                                                         {.key = "file", .title = ""},
                                                         {.key = "problem", .title = ""}}};

constexpr auto kIncidentOptions =
    joined(std::array{valued(
               "--from", "DIRECTORY|URL",
               "A directory of incidents, or a running memstatd; by default the one on\nthis machine, or without it "
               "/var/lib/memstatd/incidents",
               [](CommandLine& line, const std::string& text) { line.from = meant_reference(text); }, check_from_anywhere)},
           kReportOptions);

/// The type that the incident is about, in one poll: "/app 60 MiB of 64 MiB".
std::string amount_of_object(const Incident& incident, std::span<const TypeRow> types) {
  const auto found = std::find_if(types.begin(), types.end(), [&](const TypeRow& type) {
    return incident.object == (type.allocator == "memcg" ? type.name : type.allocator + "/" + type.name);
  });
  if (found == types.end()) return {};
  const NearestLimit limit = nearest_limit(*found);
  const bool is_bytes = limit.column == nullptr ? has(*found, kBytesInUse) : limit.column->is_bytes;
  const auto amount = [&](const Column& column) {
    return amount_text(static_cast<double>(figure_of(*found, column)), is_bytes);
  };
  std::string text = incident.object + " " + amount(is_bytes ? kBytesInUse : kObjectsInUse);
  return limit.column == nullptr ? text : text + " of " + amount(*limit.column);
}

Report run_incidents(const CommandLine& options) {
  const FoundIncidents found = find_incidents(options.from);
  if (!found.problem.empty()) return {.problem = found.problem};
  ReportTable table("incidents", kIncidentColumns);
  std::uint64_t number = 0;
  for (const Incident& one : found.list.incidents) {
    const std::string& what = one.problem.empty() ? one.headline : one.problem;
    table.add({++number, one.realtime_ns == 0 ? Cell() : Cell(one.realtime_ns), cell_of_text(what), cell_of_text(one.killed),
               cell_of_text(one.killer), cell_of_text(one.culprit), cell_of_text(one.cause), cell_of_text(one.object),
               cell_of_text(one.certainty), cell_of_text(one.next), one.polls, one.left_out, one.bytes, one.file,
               cell_of_text(one.problem)});
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

std::string incident_story(const Incident& incident, ReportSource& source, std::size_t width) {
  constexpr std::size_t kBefore = 6, kAfter = 2, kOfHour = 4;
  std::vector<std::string> lines;
  std::size_t noticed = 0;
  PollWalk walk(source, {});
  while (walk.next()) {
    const Sample& sample = walk.sample();
    std::string line = "  " + time_text(sample.time_ns, false);
    if (sample.memory && sample.memory->available)
      line += "  available " + amount_text(static_cast<double>(*sample.memory->available), true);
    if (const std::string object = amount_of_object(incident, sample.types); !object.empty())
      line += "  " + printable(object);
    if (sample.time_ns <= incident.realtime_ns) noticed = lines.size();
    lines.push_back(std::move(line));
  }
  std::string out = wrapped(time_text(incident.realtime_ns, true) + ": " + printable(incident.headline) + ".", "", width);
  if (!incident.killer.empty()) {
    const std::string killed = incident.killed.empty() ? "a process that the log does not name" : incident.killed;
    out += wrapped("Killed: " + printable(killed) + ". Decided by: " + printable(incident.killer) + ".", "", width);
  }
  if (incident.cause == kPreviousBoot) out += "Next: " + printable(incident.next) + "\n";  // its poll has only a log
  const std::size_t begin = noticed < kBefore ? 0 : noticed - kBefore;
  const std::size_t step = (begin + kOfHour - 1) / kOfHour;  // of those before
  for (std::size_t i = 0; i < begin; i += step) out += fitted(lines[i] + "\n", width);
  for (std::size_t i = begin; i < lines.size() && i <= noticed + kAfter; ++i)
    out += fitted(lines[i] + (i == noticed ? "  <- noticed" : "") + "\n", width);
  if (incident.left_out != 0)
    out += wrapped(counted(static_cast<double>(incident.left_out), "file") +
                       " had no room in the memory for recent polls, and " + (incident.left_out == 1 ? "is" : "are") +
                       " not checked.",
                   "", width);
  return out + "\n";
}

const Command kIncidentsCommand{"incidents",
                                Group::kLook,
                                "What was killed, failed or ran out, with the polls before it",
                                "memstatctl incidents\n"
                                "memstatctl why --incident 1",
                                kIncidentOptions,
                                run_incidents};

}  // namespace memstat::ctl
