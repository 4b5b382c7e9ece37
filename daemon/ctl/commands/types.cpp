// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/reports.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <vector>

#include "daemon/ctl/commands/named_type.h"
#include "daemon/ctl/commands/shared_options.h"
#include "daemon/ctl/source/type_figures.h"

namespace memstat::ctl {
namespace {

constexpr std::array<ReportColumn, 14> kTypesColumns{
    {{.key = "allocator", .title = "ALLOCATOR"},
     {.key = "type", .title = "TYPE", .least = 12},
     {.key = "detail", .title = ""},
     {.key = "also", .title = ""},
     {.key = "bytes", .title = "BYTES", .unit = Unit::kBytes},
     {.key = "held_bytes", .title = "HELD", .unit = Unit::kBytes, .rank = 1},
     {.key = "objects", .title = "OBJECTS", .unit = Unit::kNumber, .rank = 2},
     {.key = "free_objects", .title = "FREE", .unit = Unit::kNumber, .rank = 5},
     {.key = "object_size_bytes", .title = "SIZE", .unit = Unit::kNumber, .rank = 6},
     {.key = "failures", .title = "FAILURES", .unit = Unit::kNumber, .rank = 4},
     {.key = "", .title = "LIMIT", .unit = Unit::kNumber, .rank = 7},
     {.key = "limit_used_ratio", .title = "USED", .unit = Unit::kRatio, .rank = 3},
     {.key = "limit_objects", .title = "", .unit = Unit::kNumber},
     {.key = "limit_bytes", .title = "", .unit = Unit::kBytes}}};

Cell figure_cell(const TypeRow& type, const Column& column) {
  return has(type, column) ? Cell(figure_of(type, column)) : Cell();
}

/// Largest first; equal ones in a fixed order, so that two reports can be compared.
std::vector<const TypeRow*> largest_first(std::span<const TypeRow> rows) {
  std::vector<const TypeRow*> types;
  types.reserve(rows.size());
  for (const TypeRow& row : rows) types.push_back(&row);
  const auto key = [](const TypeRow& type) { return std::tuple(~type.bytes, identity_of(type)); };
  std::sort(types.begin(), types.end(), [&](const TypeRow* a, const TypeRow* b) { return key(*a) < key(*b); });
  return types;
}

constexpr auto kTypesOptions =
    joined(std::array{kKernelOption, kFromHostsOption, kVerboseOption}, joined(kServerOptions, kTypeReportOptions));

Report run_types(const CommandLine& options) {
  return report_of_types(options, types_table, "the sources of this kernel have no memory types");
}

}  // namespace

bool is_of_hosts(std::span<const TypeRow> types) {
  return std::any_of(types.begin(), types.end(), [](const TypeRow& type) { return !type.host.empty(); });
}

void add_row(ReportTable& table, const TypeRow& type, bool has_hosts, std::vector<Cell> cells) {
  if (has_hosts) cells.insert(cells.begin() + kHostPlace, type.host);
  table.add(std::move(cells));
}

ReportTable types_table(std::span<const TypeRow> types) {
  const bool has_hosts = is_of_hosts(types);
  static constexpr auto kOfHosts = with_host(kTypesColumns);
  ReportTable table("types", has_hosts ? std::span<const ReportColumn>(kOfHosts) : kTypesColumns, 2);
  for (const TypeRow* const type : largest_first(types)) {
    const NearestLimit limit = nearest_limit(*type);
    const Cell nearest = limit.column == nullptr
                             ? Cell()
                             : UnitAmount{static_cast<double>(figure_of(*type, *limit.column)), limit.column->is_bytes};
    add_row(table, *type, has_hosts,
            {type->allocator, type->name, cell_of_text(type->detail), cell_of_text(other_names(*type, ", ")),
             figure_cell(*type, kBytesInUse), figure_cell(*type, kBytesHeld), figure_cell(*type, kObjectsInUse),
             figure_cell(*type, kFreeObjects), figure_cell(*type, kObjectSize), figure_cell(*type, kFailures), nearest,
             cell_of(limit.used), figure_cell(*type, kObjectLimit), figure_cell(*type, kByteLimit)});
  }
  return table;
}

void note_system(Sample& sample, ReportSource& source) {
  const std::string os = source.machine().os;
  for (TypeRow& type : sample.types) {
    if (type.os.empty()) type.os = os;
  }
}

Report report_of_types(const CommandLine& options, ReportTable (*make)(std::span<const TypeRow>), const char* why_empty) {
  const OpenedSource opened =
      options.hosts.size() > 1 ? open_fleet(options.hosts) : open_source(options.from, options.server);
  if (opened.source == nullptr) return {.problem = opened.problem};
  Sample sample = opened.source->read();
  note_system(sample, *opened.source);
  if (sample.is_failed()) return {.problem = sample.problem, .notes = sample.notes};
  // Except if the sources work but have no types, as in a recording of only counters.
  if (sample.types.empty() && !(sample.missing.empty() && sample.notes.empty())) {
    std::string problem = "no memory type could be read";
    for (const std::string& line : sample.missing) problem += "; " + line;
    return {.problem = problem, .notes = sample.notes};
  }
  ReportTable table = make(sample.types);
  const bool is_empty = table.empty();
  Report report = report_of(std::move(table), with_merged_names(options.view, sample.types));
  report.notes = sample.notes;
  if (is_empty) report.notes.emplace_back(why_empty);
  report.missing = sample.missing;
  report.missing.insert(report.missing.end(), sample.unscraped.begin(), sample.unscraped.end());
  if (!sample.problem.empty()) report.missing.push_back(sample.problem);  // of a host that did not answer
  return report;
}

const Command kTypesCommand{"types",
                            Group::kLook,
                            "Memory types of any kernel, the largest first",
                            "memstatctl types\n"
                            "memstatctl types 'dentry|inode' --sort held\n"
                            "memstatctl types --allocator slab --limit 20 --from http://127.0.0.1:8947",
                            kTypesOptions,
                            run_types};

}  // namespace memstat::ctl
