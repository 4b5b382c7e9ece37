// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/reports.h"

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>
#include <vector>

#include "daemon/ctl/commands/shared_options.h"
#include "daemon/ctl/source/type_figures.h"
#include "daemon/explain/tables.h"

namespace memstat::ctl {
namespace {

constexpr std::array<ReportColumn, 16> kLimitsColumns{{{.key = "allocator", .title = "ALLOCATOR"},
                                                       {.key = "type", .title = "TYPE", .least = 12},
                                                       {.key = "used_ratio", .title = "USED", .unit = Unit::kRatio},
                                                       {.key = "", .title = "COUNTED", .unit = Unit::kNumber},
                                                       {.key = "", .title = "LIMIT", .unit = Unit::kNumber},
                                                       {.key = "of", .title = "OF", .rank = 1},
                                                       {.key = "", .title = "HEADROOM", .unit = Unit::kBytes, .rank = 1},
                                                       {.key = "failures", .title = "FAILURES", .unit = Unit::kNumber},
                                                       {.key = "tunable", .title = "SET BY", .rank = 2},
                                                       {.key = "set_in", .title = "", .rank = 3},
                                                       {.key = "note", .title = "NOTE", .rank = 3, .least = 16},
                                                       {.key = "counted_objects", .title = "", .unit = Unit::kNumber},
                                                       {.key = "limit_objects", .title = "", .unit = Unit::kNumber},
                                                       {.key = "counted_bytes", .title = "", .unit = Unit::kBytes},
                                                       {.key = "limit_bytes", .title = "", .unit = Unit::kBytes},
                                                       {.key = "headroom_bytes", .title = "", .unit = Unit::kBytes}}};

struct Limited {
  const TypeRow* type = nullptr;
  NearestLimit limit;
  std::uint64_t failures = 0;  // 0 for bucket zones, whose failures are routine
  bool is_of_tasks = false;    // a limit of a control group's tasks, not of its memory
};

NearestLimit tasks_limit_of(const TypeRow& type) {
  return {.column = &kObjectLimit,
          .counted = *type.tasks,
          .used = static_cast<double>(*type.tasks) / static_cast<double>(std::max<std::uint64_t>(1, type.tasks_limit))};
}

/// Nearest to the limit first, then by failures, then in a fixed order, so that two reports can be compared.
std::vector<Limited> nearest_first(std::span<const TypeRow> types) {
  std::vector<Limited> found;
  for (const TypeRow& type : types) {
    const std::uint64_t failures = type.fails_routinely ? 0 : type.failures;
    const NearestLimit limit = nearest_limit(type);
    if (limit.column != nullptr || failures != 0) found.push_back({.type = &type, .limit = limit, .failures = failures});
    if (type.tasks) found.push_back({.type = &type, .limit = tasks_limit_of(type), .is_of_tasks = true});
  }
  const auto key = [](const Limited& one) {
    return std::tuple(-one.limit.used.value_or(-1), ~one.failures, identity_of(*one.type), one.is_of_tasks);
  };
  std::sort(found.begin(), found.end(), [&](const Limited& a, const Limited& b) { return key(a) < key(b); });
  return found;
}

/// The setting of the limit, and how the kernel applies it; empty if unknown.
LimitWord word_of(const Limited& one) {
  if (one.is_of_tasks) {
    return {.tunable = "pids.max", .where = "file of the control group", .note = "a parent's limit applies, too"};
  }
  const LimitWord* const word = limit_word(one.type->os, one.type->allocator, one.type->name);
  return word == nullptr ? LimitWord() : *word;
}

constexpr auto kLimitsOptions =
    joined(std::array{kKernelOption, kFromHostsOption, kVerboseOption}, joined(kServerOptions, kTypeReportOptions));

Report run_limits(const CommandLine& options) {
  return report_of_types(options, limits_table, "nothing has failed, and no type has a limit");
}

}  // namespace

ReportTable limits_table(std::span<const TypeRow> types) {
  const bool has_hosts = is_of_hosts(types);
  static constexpr auto kOfHosts = with_host(kLimitsColumns);
  ReportTable table("limits", has_hosts ? std::span<const ReportColumn>(kOfHosts) : kLimitsColumns, 2);
  for (const Limited& one : nearest_first(types)) {
    const TypeRow& type = *one.type;
    const Column* const column = one.limit.column;
    const bool is_bytes = column != nullptr && column->is_bytes;
    std::optional<std::uint64_t> limit, counted;
    if (column != nullptr) limit = one.is_of_tasks ? type.tasks_limit : figure_of(type, *column);
    if (column != nullptr && one.limit.used) counted = one.limit.counted;
    const auto amount = [&](const auto& value) {
      return value ? Cell(UnitAmount{static_cast<double>(*value), is_bytes}) : Cell();
    };
    const auto exact = [&](const auto& value, bool of_bytes) { return is_bytes == of_bytes ? cell_of(value) : Cell(); };
    const bool has_failures = !one.is_of_tasks && has(type, kFailures);
    const std::string unit = column == nullptr ? "" : one.is_of_tasks ? "tasks" : unit_of(*column);
    const LimitWord word = word_of(one);
    const Cell headroom = one.is_of_tasks ? Cell() : cell_of(type.headroom.bytes);
    add_row(table, type, has_hosts,
            {type.allocator, type.name, cell_of(one.limit.used), amount(counted), amount(limit), cell_of_text(unit),
             headroom, has_failures ? Cell(type.failures) : Cell(), cell_of_text(std::string(word.tunable)),
             cell_of_text(std::string(word.where)), cell_of_text(std::string(word.note)), exact(counted, false),
             exact(limit, false), exact(counted, true), exact(limit, true), headroom});
  }
  return table;
}

const Command kLimitsCommand{"limits",
                             Group::kLook,
                             "Types that failed or are near their limit, nearest first",
                             "memstatctl limits\n"
                             "memstatctl limits --json --from bug.tar.zst\n"
                             "memstatctl limits --allocator table --from http://127.0.0.1:8947",
                             kLimitsOptions,
                             run_limits};

}  // namespace memstat::ctl
