// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/limits_report.h"

#include <algorithm>
#include <tuple>

#include "daemon/ctl/output/json_writer.h"
#include "daemon/ctl/source/type_figures.h"

namespace memstat::ctl {
namespace {

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

}  // namespace

std::vector<TableRow> limits_rows(std::span<const TypeRow> types, bool is_human) {
  std::vector<TableRow> rows(1, {"ALLOCATOR", "TYPE", "USED", "COUNTED", "LIMIT", "OF", "FAILURES"});
  for (const Limited& one : nearest_first(types)) {
    TableRow& row = rows.emplace_back(TableRow{one.type->allocator, printable(one.type->name)});
    row.push_back(one.limit.used ? percent(*one.limit.used) : "-");
    if (const Column* const limit = one.limit.column; limit != nullptr) {
      row.push_back(one.limit.used ? amount_text(one.limit.counted, limit->is_bytes, is_human) : "-");
      row.push_back(cell(*one.type, *limit, is_human));
      row.emplace_back(unit_of(*limit));
    } else {
      row.insert(row.end(), 3, "-");
    }
    row.push_back(cell(*one.type, kFailures, is_human));
  }
  return rows;
}

std::string limits_json(std::span<const TypeRow> types) {
  JsonWriter json("1");
  json.open_list("limits");
  for (const Limited& one : nearest_first(types)) {
    json.open_object({});
    json.field("allocator", one.type->allocator);
    json.field("type", one.type->name);
    if (one.limit.used) {
      json.field("used", percent(*one.limit.used));
      json.field("counted", one.limit.counted);
    }
    if (one.limit.column != nullptr) {
      json.field("limit", figure_of(*one.type, *one.limit.column));
      json.field("of", unit_of(*one.limit.column));
    }
    if (has(*one.type, kFailures)) json.field("failures", figure_of(*one.type, kFailures));
    json.close();
  }
  return json.finish();
}

}  // namespace memstat::ctl
