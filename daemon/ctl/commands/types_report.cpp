// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/types_report.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <tuple>
#include <vector>

#include "daemon/ctl/output/cells.h"
#include "daemon/ctl/output/json_writer.h"
#include "daemon/ctl/source/type_figures.h"

namespace memstat::ctl {
namespace {

constexpr std::array kColumns{kBytesInUse, kObjectsInUse, kBytesHeld, kFreeObjects, kFailures};

/// Largest first; equals in a fixed order, so that two reports can be compared.
std::vector<const TypeRow*> sorted(std::span<const TypeRow> rows) {
  std::vector<const TypeRow*> types;
  types.reserve(rows.size());
  for (const TypeRow& row : rows) types.push_back(&row);
  const auto key = [](const TypeRow& type) { return std::tuple(~type.bytes, identity_of(type)); };
  std::sort(types.begin(), types.end(), [&](const TypeRow* a, const TypeRow* b) { return key(*a) < key(*b); });
  return types;
}

std::vector<TableRow> types_rows(std::span<const TypeRow> types, bool is_human) {
  std::vector<TableRow> rows(1, {"ALLOCATOR", "TYPE"});
  for (const Column& column : kColumns) rows[0].emplace_back(column.title);
  rows[0].insert(rows[0].end(), {"LIMIT", "OF", "USED"});
  for (const TypeRow* const type : sorted(types)) {
    TableRow& row = rows.emplace_back(TableRow{type->allocator, printable(type->name)});
    for (const Column& column : kColumns) row.push_back(cell(*type, column, is_human));
    const NearestLimit limit = nearest_limit(*type);
    row.push_back(limit.column != nullptr ? cell(*type, *limit.column, is_human) : "-");
    row.emplace_back(limit.column == nullptr ? "-" : unit_of(*limit.column));
    row.push_back(limit.used ? percent(*limit.used) : "-");
  }
  return rows;
}

}  // namespace

std::string types_text(std::span<const TypeRow> types, bool is_human) { return table_text(types_rows(types, is_human), 2); }

std::string types_csv(std::span<const TypeRow> types) { return table_csv(types_rows(types, false)); }

std::string types_json(std::span<const TypeRow> types) {
  JsonWriter json("1");
  json.open_list("types");
  for (const TypeRow* const type : sorted(types)) {
    json.open_object({});
    json.field("allocator", type->allocator);
    json.field("type", type->name);
    if (!type->detail.empty()) json.field("detail", type->detail);
    for (const Column& column : kColumns) {
      if (has(*type, column)) json.field(column.key, figure_of(*type, column));
    }
    for (const Column& column : {kObjectLimit, kByteLimit}) {
      if (has(*type, column)) json.field(column.key, figure_of(*type, column));
    }
    if (const NearestLimit limit = nearest_limit(*type); limit.used) json.field("limit_used", percent(*limit.used));
    json.close();
  }
  return json.finish();
}

}  // namespace memstat::ctl
