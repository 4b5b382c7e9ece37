// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/diff_report.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "daemon/ctl/output/json_writer.h"
#include "daemon/ctl/source/type_figures.h"

namespace memstat::ctl {
namespace {

/// One type at both times; null: it was not there.
struct Pair {
  const TypeRow* before = nullptr;
  const TypeRow* after = nullptr;
};

bool has_either(const Pair& pair, const Column& column) {
  return (pair.before != nullptr && has(*pair.before, column)) || (pair.after != nullptr && has(*pair.after, column));
}

std::uint64_t amount_of(const TypeRow* type, const Column& column) {
  return type != nullptr && has(*type, column) ? figure_of(*type, column) : 0;
}

/// How much more there is; figures are below 2^63.
std::int64_t gain(const Pair& pair, const Column& column) {
  return static_cast<std::int64_t>(amount_of(pair.after, column) - amount_of(pair.before, column));
}

struct Change {
  TypeIdentity identity;
  Pair pair;
};

std::vector<Change> changes(std::span<const TypeRow> before, std::span<const TypeRow> after) {
  std::map<TypeIdentity, Pair> pairs;
  for (const TypeRow& type : before) pairs[identity_of(type)].before = &type;
  for (const TypeRow& type : after) pairs[identity_of(type)].after = &type;
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

std::string cell_of(const TypeRow* type, const Column& column, bool is_human) {
  return type == nullptr ? "-" : cell(*type, column, is_human);
}

const std::string& allocator_of(const Pair& pair) { return (pair.after != nullptr ? pair.after : pair.before)->allocator; }
const std::string& name_of(const Pair& pair) { return (pair.after != nullptr ? pair.after : pair.before)->name; }

std::string gain_text(const Pair& pair, const Column& column, bool is_human) {
  if (!has_either(pair, column)) return "-";
  const std::int64_t more = gain(pair, column);
  const auto size = static_cast<std::uint64_t>(more < 0 ? -more : more);
  return (more < 0 ? "-" : more > 0 ? "+" : "") + amount_text(size, column.is_bytes, is_human);
}

}  // namespace

std::vector<TableRow> diff_rows(std::span<const TypeRow> before, std::span<const TypeRow> after, bool is_human) {
  std::vector<TableRow> rows(1, {"ALLOCATOR", "TYPE", "BEFORE", "AFTER", "BYTES", "OBJECTS", "FAILURES"});
  for (const auto& [identity, pair] : changes(before, after)) {
    rows.push_back({allocator_of(pair), printable(name_of(pair)), cell_of(pair.before, kBytesInUse, is_human),
                    cell_of(pair.after, kBytesInUse, is_human), gain_text(pair, kBytesInUse, is_human),
                    gain_text(pair, kObjectsInUse, is_human), gain_text(pair, kFailures, is_human)});
  }
  return rows;
}

std::string diff_json(std::span<const TypeRow> before, std::span<const TypeRow> after) {
  JsonWriter json("1");
  json.open_list("changes");
  for (const auto& [identity, pair] : changes(before, after)) {
    json.open_object({});
    json.field("allocator", allocator_of(pair));
    json.field("type", name_of(pair));
    for (const Column* const column : {&kBytesInUse, &kObjectsInUse, &kFailures}) {
      const std::string key = column->key;
      if (pair.before != nullptr && has(*pair.before, *column))
        json.field(key + "_before", figure_of(*pair.before, *column));
      if (pair.after != nullptr && has(*pair.after, *column)) json.field(key + "_after", figure_of(*pair.after, *column));
    }
    json.close();
  }
  return json.finish();
}

}  // namespace memstat::ctl
