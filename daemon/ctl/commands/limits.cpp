// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/reports.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <vector>

#include "daemon/ctl/commands/commands.h"
#include "daemon/ctl/commands/shared_options.h"
#include "daemon/ctl/source/type_figures.h"

namespace memstat::ctl {
namespace {

constexpr std::array<ReportColumn, 11> kLimitsColumns{{{.key = "allocator", .title = "ALLOCATOR"},
                                                       {.key = "type", .title = "TYPE", .least = 12},
                                                       {.key = "used_ratio", .title = "USED", .unit = Unit::kRatio},
                                                       {.key = "", .title = "COUNTED", .unit = Unit::kNumber},
                                                       {.key = "", .title = "LIMIT", .unit = Unit::kNumber},
                                                       {.key = "of", .title = "OF", .rank = 1},
                                                       {.key = "failures", .title = "FAILURES", .unit = Unit::kNumber},
                                                       {.key = "counted_objects", .title = "", .unit = Unit::kNumber},
                                                       {.key = "limit_objects", .title = "", .unit = Unit::kNumber},
                                                       {.key = "counted_bytes", .title = "", .unit = Unit::kBytes},
                                                       {.key = "limit_bytes", .title = "", .unit = Unit::kBytes}}};

struct Limited {
  const TypeRow* type = nullptr;
  NearestLimit limit;
  std::uint64_t failures = 0;  // of bucket zones 0: theirs mean nothing
};

/// Nearest first, then what failed most; equals in a fixed order, so that two reports can be compared.
std::vector<Limited> nearest_first(std::span<const TypeRow> types) {
  std::vector<Limited> found;
  for (const TypeRow& type : types) {
    const std::uint64_t failures = type.fails_routinely ? 0 : type.failures;
    const NearestLimit limit = nearest_limit(type);
    if (limit.column != nullptr || failures != 0) found.push_back({.type = &type, .limit = limit, .failures = failures});
  }
  const auto key = [](const Limited& one) {
    return std::tuple(-one.limit.used.value_or(-1), ~one.failures, identity_of(*one.type));
  };
  std::sort(found.begin(), found.end(), [&](const Limited& a, const Limited& b) { return key(a) < key(b); });
  return found;
}

constexpr auto kLimitsOptions = joined(std::array{kKernelOption, kFromAnywhereOption}, kTypeReportOptions);

Report run_limits(const CommandLine& options) {
  return report_of_types(options, limits_table, "nothing has failed, and no type has a limit");
}

}  // namespace

ReportTable limits_table(std::span<const TypeRow> types) {
  ReportTable table("limits", kLimitsColumns, 2);
  for (const auto& [type, limit, failures] : nearest_first(types)) {
    std::vector<Cell> row(kLimitsColumns.size());
    row[0] = type->allocator;
    row[1] = type->name;
    row[2] = cell_of(limit.used);
    if (limit.column != nullptr) {
      const bool is_bytes = limit.column->is_bytes;
      const std::uint64_t most = figure_of(*type, *limit.column);
      row[4] = UnitAmount{static_cast<double>(most), is_bytes};
      row[5] = std::string(unit_of(*limit.column));
      row[is_bytes ? 10 : 8] = most;
      if (limit.used) {
        row[3] = UnitAmount{static_cast<double>(limit.counted), is_bytes};
        row[is_bytes ? 9 : 7] = limit.counted;
      }
    }
    if (has(*type, kFailures)) row[6] = type->failures;
    table.add(std::move(row));
  }
  return table;
}

const Command kLimitsCommand{"limits",
                             Group::kLook,
                             "What failed and what is near its limit, nearest first",
                             "memstatctl limits\n"
                             "memstatctl limits --json --from bug.tar.zst\n"
                             "memstatctl limits --allocator table --from http://127.0.0.1:8947",
                             kLimitsOptions,
                             run_limits};

}  // namespace memstat::ctl
