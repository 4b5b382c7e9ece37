// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/cpu_report.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "daemon/ctl/commands/named_type.h"
#include "daemon/ctl/output/cells.h"
#include "daemon/ctl/output/json_writer.h"
#include "daemon/ctl/source/type_figures.h"

namespace memstat::ctl {
namespace {

constexpr std::size_t kBarLength = 20;

/// Adds figures of one more type of the name.
void add_splits(std::vector<Split>& sums, const std::vector<Split>& more) {
  for (const Split& split : more) {
    const auto found = std::find_if(sums.begin(), sums.end(), [&](const Split& sum) { return sum.title == split.title; });
    if (found == sums.end()) {
      sums.push_back(split);
      continue;
    }
    found->values.resize(std::max(found->values.size(), split.values.size()));
    for (std::size_t part = 0; part < split.values.size(); ++part) {
      if (split.values[part]) found->values[part] = found->values[part].value_or(0) + *split.values[part];
    }
  }
}

/// Figures of the CPUs, or nodes, of a type.
struct Parts {
  std::string title;  // "CPU"
  std::string key;    // "cpu"
  std::vector<Split> columns;
  std::vector<double> shares = {};  // of each part; empty while all figures are 0

  [[nodiscard]] std::size_t count() const {
    std::size_t most = 0;
    for (const Split& column : columns) most = std::max(most, column.values.size());
    return most;
  }
  [[nodiscard]] std::optional<std::uint64_t> value(const Split& column, std::size_t part) const {
    return part < column.values.size() ? column.values[part] : std::nullopt;
  }
  [[nodiscard]] bool is_there(std::size_t part) const {
    return std::any_of(columns.begin(), columns.end(), [&](const Split& column) { return value(column, part).has_value(); });
  }
};

void fill_shares(Parts& parts) {
  for (const Split& column : parts.columns) {
    double sum = 0;
    for (const auto& value : column.values) sum += static_cast<double>(value.value_or(0));
    if (sum <= 0) continue;
    for (std::size_t part = 0; part < parts.count(); ++part) {
      parts.shares.push_back(static_cast<double>(parts.value(column, part).value_or(0)) / sum);
    }
    return;
  }
}

std::string part_title(const std::string& word) {
  std::string title = word;
  for (char& c : title) c = c == '_' ? ' ' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return title;
}

std::string cpu_share_text(const Parts& parts, std::size_t part, bool has_bar) {
  std::string text = parts.shares.empty() ? "-" : percent(parts.shares[part]);
  if (!has_bar) return text;
  const double share = parts.shares.empty() ? 0 : parts.shares[part];
  const auto length = static_cast<std::size_t>(std::lround(share * static_cast<double>(kBarLength)));
  return to_right(text, 4) + "  " + to_left(std::string(length, '#'), kBarLength);
}

std::vector<TableRow> part_rows(const Parts& parts, bool is_human, bool has_bar) {
  std::vector<TableRow> rows(1, {parts.title});
  for (const Split& column : parts.columns) rows[0].push_back(has_bar ? part_title(column.title) : column.title);
  rows[0].push_back(has_bar ? to_left("SHARE", kBarLength + 6) : "share");
  for (std::size_t part = 0; part < parts.count(); ++part) {
    if (!parts.is_there(part)) continue;
    TableRow& row = rows.emplace_back(TableRow{std::to_string(part)});
    for (const Split& column : parts.columns) {
      const auto value = parts.value(column, part);
      row.push_back(value ? amount_text(*value, column.is_bytes, is_human) : "-");
    }
    row.push_back(cpu_share_text(parts, part, has_bar));
  }
  return rows;
}

void add_parts(JsonWriter& json, const Parts& parts) {
  if (parts.columns.empty()) return;
  json.open_list(parts.key + "s");
  for (std::size_t part = 0; part < parts.count(); ++part) {
    if (!parts.is_there(part)) continue;
    json.open_object().field(parts.key, part);
    for (const Split& column : parts.columns) {
      if (const auto value = parts.value(column, part)) json.field(column.title, *value);
    }
    if (!parts.shares.empty()) json.field("share", parts.shares[part]);
    json.close();
  }
  json.close();
}

}  // namespace

Report cpu_report(ReportSource& source, const std::string& word, Layout layout, bool is_human) {
  const Sample sample = source.read();
  if (sample.types.empty()) return {.output = {}, .problem = sample.problem};
  const NamedType named = find_named_type(sample.types, word);
  if (named.types.empty()) return {.output = {}, .problem = named.problem};
  Parts cpus{.title = "CPU", .key = "cpu", .columns = {}};
  Parts nodes{.title = "NODE", .key = "node", .columns = {}};
  for (const TypeRow* const type : named.types) {
    const Splits splits = source.splits(*type);
    if (!splits.problem.empty()) return {.output = {}, .problem = splits.problem};
    add_splits(cpus.columns, splits.cpus);
    add_splits(nodes.columns, splits.nodes);
  }
  const std::string name = full_name(*named.types.front());
  if (cpus.columns.empty() && nodes.columns.empty()) {
    return {
        .output = {},
        .problem = "the kernel counts nothing of " + printable(name) + " by CPU or by node" + source.hint_without_splits()};
  }
  fill_shares(cpus);
  fill_shares(nodes);
  if (layout == Layout::kJson) {
    JsonWriter json("1");
    json.field("type", name);
    add_parts(json, cpus);
    add_parts(json, nodes);
    return {.output = json.finish(), .problem = {}};
  }
  if (layout == Layout::kCsv) {
    return {.output = table_csv(part_rows(cpus.columns.empty() ? nodes : cpus, false, false)), .problem = {}};
  }
  std::string text = printable(name) + "\n";
  for (const Parts* const parts : {&cpus, &nodes}) {
    if (!parts->columns.empty()) text += table_text(part_rows(*parts, is_human, true), 0);
  }
  return {.output = text, .problem = {}};
}

}  // namespace memstat::ctl
