// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/diff_report.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "daemon/ctl/json_writer.h"
#include "daemon/ctl/type_figures.h"
#include "daemon/ctl/types_report.h"

namespace memstat::ctl {
namespace {

using Identity = std::tuple<int, std::string, unsigned>;  // allocator, name, ordinal

/// One type at both times; null: it was not there.
struct Pair {
  const memory_type* before = nullptr;
  const memory_type* after = nullptr;
};

bool has_either(const Pair& pair, const Column& column) {
  return (pair.before != nullptr && has(pair.before, column)) || (pair.after != nullptr && has(pair.after, column));
}

std::uint64_t amount_of(const memory_type* type, const Column& column) {
  return type != nullptr && has(type, column) ? figure_of(type, column) : 0;
}

/// How much more there is; figures are below 2^63.
std::int64_t gain(const Pair& pair, const Column& column) {
  return static_cast<std::int64_t>(amount_of(pair.after, column) - amount_of(pair.before, column));
}

struct Change {
  Identity identity;
  Pair pair;
};

std::vector<Change> changes(memory_type_list* before, memory_type_list* after) {
  std::map<Identity, Pair> pairs;
  const auto identity = [](const memory_type* type) {
    return Identity(memstat_get_allocator(type), memstat_get_name(type), memstat_get_ordinal(type));
  };
  for (memory_type* type = memstat_mtl_first(before); type != nullptr; type = memstat_mtl_next(type)) {
    pairs[identity(type)].before = type;
  }
  for (memory_type* type = memstat_mtl_first(after); type != nullptr; type = memstat_mtl_next(type)) {
    pairs[identity(type)].after = type;
  }
  std::vector<Change> found;
  for (const auto& [name, pair] : pairs) {
    const bool is_other = gain(pair, kBytesInUse) != 0 || gain(pair, kObjectsInUse) != 0 || gain(pair, kFailures) != 0;
    if (is_other || pair.before == nullptr || pair.after == nullptr) found.push_back({.identity = name, .pair = pair});
  }
  const auto key = [](const Change& change) {
    return std::tuple(-gain(change.pair, kBytesInUse), -gain(change.pair, kObjectsInUse), change.identity);
  };
  std::sort(found.begin(), found.end(), [&](const Change& a, const Change& b) { return key(a) < key(b); });
  return found;
}

std::string cell_of(const memory_type* type, const Column& column, bool is_human) {
  return type == nullptr ? "-" : cell(type, column, is_human);
}

std::string gain_text(const Pair& pair, const Column& column, bool is_human) {
  if (!has_either(pair, column)) return "-";
  const std::int64_t more = gain(pair, column);
  const auto size = static_cast<std::uint64_t>(more < 0 ? -more : more);
  return (more < 0 ? "-" : more > 0 ? "+" : "") + amount_text(size, column.is_bytes, is_human);
}

}  // namespace

std::vector<TableRow> diff_rows(memory_type_list* before, memory_type_list* after, bool is_human) {
  std::vector<TableRow> rows(1, {"ALLOCATOR", "TYPE", "BEFORE", "AFTER", "BYTES", "OBJECTS", "FAILURES"});
  for (const auto& [identity, pair] : changes(before, after)) {
    rows.push_back({allocator_name(std::get<0>(identity)), printable(std::get<1>(identity)),
                    cell_of(pair.before, kBytesInUse, is_human), cell_of(pair.after, kBytesInUse, is_human),
                    gain_text(pair, kBytesInUse, is_human), gain_text(pair, kObjectsInUse, is_human),
                    gain_text(pair, kFailures, is_human)});
  }
  return rows;
}

std::string diff_json(memory_type_list* before, memory_type_list* after) {
  JsonWriter json("1");
  json.open_list("changes");
  for (const auto& [identity, pair] : changes(before, after)) {
    json.open_object({});
    json.field("allocator", allocator_name(std::get<0>(identity)));
    json.field("type", std::get<1>(identity));
    for (const Column* const column : {&kBytesInUse, &kObjectsInUse, &kFailures}) {
      const std::string key = column->key;
      if (pair.before != nullptr && has(pair.before, *column)) json.field(key + "_before", figure_of(pair.before, *column));
      if (pair.after != nullptr && has(pair.after, *column)) json.field(key + "_after", figure_of(pair.after, *column));
    }
    json.close();
  }
  return json.finish();
}

}  // namespace memstat::ctl
