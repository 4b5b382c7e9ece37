// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/reports.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <vector>

#include "daemon/ctl/commands/commands.h"
#include "daemon/ctl/commands/shared_options.h"
#include "daemon/ctl/source/type_figures.h"
#include "daemon/explain/tables.h"

namespace memstat::ctl {
namespace {

constexpr std::array<ReportColumn, 14> kLimitsColumns{{{.key = "allocator", .title = "ALLOCATOR"},
                                                       {.key = "type", .title = "TYPE", .least = 12},
                                                       {.key = "used_ratio", .title = "USED", .unit = Unit::kRatio},
                                                       {.key = "", .title = "COUNTED", .unit = Unit::kNumber},
                                                       {.key = "", .title = "LIMIT", .unit = Unit::kNumber},
                                                       {.key = "of", .title = "OF", .rank = 1},
                                                       {.key = "failures", .title = "FAILURES", .unit = Unit::kNumber},
                                                       {.key = "tunable", .title = "SET BY", .rank = 2},
                                                       {.key = "set_in", .title = "", .rank = 3},
                                                       {.key = "note", .title = "NOTE", .rank = 3, .least = 16},
                                                       {.key = "counted_objects", .title = "", .unit = Unit::kNumber},
                                                       {.key = "limit_objects", .title = "", .unit = Unit::kNumber},
                                                       {.key = "counted_bytes", .title = "", .unit = Unit::kBytes},
                                                       {.key = "limit_bytes", .title = "", .unit = Unit::kBytes}}};

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

enum LimitsCell : std::size_t {
  kAllocator,
  kType,
  kUsed,
  kCounted,
  kLimit,
  kOf,
  kFailed,
  kTunable,
  kSetIn,
  kNote,
  kCountedObjects,
  kLimitObjects,
  kCountedBytes,
  kLimitBytes
};

void add_limit(const Limited& one, std::vector<Cell>& row) {
  const bool is_bytes = one.limit.column->is_bytes;
  const std::uint64_t most = one.is_of_tasks ? one.type->tasks_limit : figure_of(*one.type, *one.limit.column);
  row[kLimit] = UnitAmount{static_cast<double>(most), is_bytes};
  row[kOf] = one.is_of_tasks ? std::string("tasks") : std::string(unit_of(*one.limit.column));
  row[is_bytes ? kLimitBytes : kLimitObjects] = most;
  if (!one.limit.used) return;
  row[kCounted] = UnitAmount{static_cast<double>(one.limit.counted), is_bytes};
  row[is_bytes ? kCountedBytes : kCountedObjects] = one.limit.counted;
}

/// Adds where the limit is set, and how the kernel applies it.
void add_words(const Limited& one, std::vector<Cell>& row) {
  if (one.is_of_tasks) {
    row[kTunable] = std::string("pids.max");
    row[kSetIn] = std::string("file of the control group");
    row[kNote] = std::string("a parent's limit holds, too");
  } else if (const LimitWord* const word = limit_word(one.type->os, one.type->allocator, one.type->name)) {
    row[kTunable] = std::string(word->tunable);
    row[kSetIn] = std::string(word->where);
    row[kNote] = cell_of_text(std::string(word->note));
  }
}

constexpr auto kLimitsOptions = joined(std::array{kKernelOption, kFromAnywhereOption}, kTypeReportOptions);

Report run_limits(const CommandLine& options) {
  return report_of_types(options, limits_table, "nothing has failed, and no type has a limit");
}

}  // namespace

ReportTable limits_table(std::span<const TypeRow> types) {
  ReportTable table("limits", kLimitsColumns, 2);
  for (const Limited& one : nearest_first(types)) {
    std::vector<Cell> row(kLimitsColumns.size());
    row[kAllocator] = one.type->allocator;
    row[kType] = one.type->name;
    row[kUsed] = cell_of(one.limit.used);
    if (one.limit.column != nullptr) add_limit(one, row);
    if (!one.is_of_tasks && has(*one.type, kFailures)) row[kFailed] = one.type->failures;
    add_words(one, row);
    table.add(std::move(row));
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
