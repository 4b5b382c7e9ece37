// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/reports.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "core/base/amount_text.h"
#include "core/model/headroom.h"
#include "daemon/ctl/commands/named_type.h"
#include "daemon/ctl/commands/shared_options.h"
#include "daemon/ctl/source/type_figures.h"
#include "daemon/ctl/top/model.h"
#include "daemon/explain/explain.h"
#include "daemon/explain/tables.h"

namespace memstat::ctl {
namespace {

constexpr std::size_t kBarLength = 20;
constexpr std::size_t kShareWidth = 5;  // "99.9%"

/// Adds the figures of another type with this name.
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

/// A type's figures by CPU or by node.
struct Parts {
  std::string title;  // "CPU"
  std::string key;    // "cpu"
  std::string list;   // "cpus"
  std::vector<Split> columns;
  std::vector<double> shares = {};  // share of each part; empty if all figures are 0

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

/// "40%  ########", or "-" if all figures are 0.
std::string share_text(const Parts& parts, std::size_t part) {
  if (parts.shares.empty()) return to_right("-", kShareWidth);
  const double share = parts.shares[part];
  return to_right(percent_cell(share), kShareWidth) + "  " +
         std::string(static_cast<std::size_t>(std::lround(share * static_cast<double>(kBarLength))), '#');
}

/// Returns what `use` makes of a table with a row for each CPU or node. The columns are the figures that the kernel has for
/// the type.
template <typename Use>
auto with_part_table(const Parts& parts, Use use) {
  std::vector<std::string> titles;
  for (const Split& column : parts.columns) titles.push_back(part_title(column.title));
  std::vector<ReportColumn> columns{{.key = parts.key, .title = parts.title, .unit = Unit::kNumber}};
  for (std::size_t i = 0; i < titles.size(); ++i) {
    const Split& column = parts.columns[i];
    columns.push_back({.key = column.title, .title = titles[i], .unit = column.is_bytes ? Unit::kBytes : Unit::kNumber});
  }
  columns.push_back({.key = "share_ratio", .title = "", .unit = Unit::kRatio});
  columns.push_back({.key = "", .title = "SHARE"});
  ReportTable table(parts.list, columns);
  for (std::size_t part = 0; part < parts.count(); ++part) {
    if (!parts.is_there(part)) continue;
    std::vector<Cell> row{std::uint64_t{part}};
    for (const Split& column : parts.columns) row.push_back(cell_of(parts.value(column, part)));
    row.push_back(parts.shares.empty() ? Cell() : Cell(parts.shares[part]));
    row.emplace_back(share_text(parts, part));
    table.add(std::move(row));
  }
  return use(table);
}

std::string figures_text(const std::vector<const TypeRow*>& types, bool is_human) {
  std::string text;
  for (const Column* figure : kColumns) {
    const auto sum = sum_of(types, *figure);
    if (!sum) continue;
    text += "  " + to_left(figure->title, 16) + to_right(figure_text(*sum, figure->is_bytes, is_human), 12) +
            (figure->is_bytes && !is_human ? " bytes" : "") + "\n";
  }
  if (const NearestLimit limit = nearest_limit(*types.front()); limit.used) {
    text += "  " + to_left("of its limit", 16) + to_right(percent_cell(*limit.used), 12) + "\n";
  }
  return text;
}

/// What a control group can still allocate, and whose limit that is.
std::string headroom_text(const GroupHeadroom& headroom, bool is_human) {
  const auto line = [](const std::string& title, const std::string& figure, const std::string& words) {
    return "  " + to_left(title, 16) + to_right(figure, 12) + words + "\n";
  };
  const auto amount = [&](std::uint64_t bytes) { return figure_text(bytes, true, is_human); };
  const std::string unit = is_human ? "" : " bytes";
  std::string text;
  if (headroom.bytes) {
    const std::string whose = headroom.set_by.empty()        ? "until it is at its limit"
                              : headroom.set_by == "machine" ? "until the machine has no memory left"
                                                             : "until " + printable(headroom.set_by) + " is at its limit";
    text += line("headroom", amount(*headroom.bytes), unit + ", " + whose);
  } else if (!headroom.uncertain.empty()) {
    text += line("headroom", "uncertain", ": " + std::string(doubt_words(headroom.uncertain)));
  }
  if (headroom.until_high) text += line("until high", amount(*headroom.until_high), unit + ", until it is slowed down");
  return text;
}

std::vector<TypeRow> copies_of(const std::vector<const TypeRow*>& types) {
  std::vector<TypeRow> rows;
  for (const TypeRow* const type : types) rows.push_back(*type);
  return rows;
}

/// The setting of a type's limit, and how the kernel applies it.
std::string limit_text(const TypeRow& type) {
  const LimitWord* const word = limit_word(type.os, type.allocator, type.name);
  if (word == nullptr) return {};
  const std::string begin =
      nearest_limit(type).column == nullptr ? "No limit is set. If one is set, it is: " : "Its limit: ";
  return "\n" + wrapped(begin + std::string(word->tunable) + " (" + std::string(word->where) + ")" +
                            (word->note.empty() ? "." : "; " + std::string(word->note) + "."),
                        "");
}

/// The caches whose objects are counted with this one's.
std::string merged_text(const TypeRow& type) {
  if (type.also.empty()) return {};
  return "\n" + wrapped("The kernel has merged other slab caches into this one, so its figures are theirs, too: " +
                            printable_bytes(other_names(type, " and ")) + ".",
                        "");
}

/// Earlier amounts, oldest first: a memstatd's last hour, or the polls of a capture.
std::vector<std::uint64_t> history_of(ReportSource& source, const Sample& sample, const TypeRow& type) {
  constexpr unsigned kSeconds = 3600;
  constexpr unsigned kPoints = 60;
  std::vector<std::uint64_t> amounts;
  const std::vector<AmountHistory> all = source.history(kSeconds, kPoints);
  for (std::size_t i = 0; i < all.size() && i < sample.types.size(); ++i) {
    if (identity_of(sample.types[i]) != identity_of(type)) continue;
    for (const auto& amount : all[i]) {
      if (amount) amounts.push_back(*amount);
    }
  }
  return amounts;
}

std::string history_text(const std::vector<std::uint64_t>& amounts, bool is_bytes, bool is_human) {
  if (amounts.size() < 2) {
    return "\n" + wrapped("No history: this needs two polls, from a capture or a running memstatd (--from URL).", "");
  }
  const auto [least, most] = std::minmax_element(amounts.begin(), amounts.end());
  return "\nIn the last hour: " +
         sparkline(std::deque<std::uint64_t>(amounts.begin(), amounts.end()), amounts.size(), true) + "  " +
         figure_text(*least, is_bytes, is_human) + " to " + figure_text(*most, is_bytes, is_human) + "\n";
}

std::string meaning_text(const std::string& name) {
  for (const Explanation& found : explain(name)) {
    if (found.kind == "type")
      return "\n" + wrapped(printable_bytes(found.what), "") +
             (found.growth.empty() ? "" : wrapped("When it grows: " + printable_bytes(found.growth), ""));
  }
  return {};
}

constexpr auto kShowOptions = joined(std::array{kTypeOption, kKernelOption, kFromServerOption, kVerboseOption, kHumanOption,
                                                kNoHumanOption, kCsvOption, kJsonOption},
                                     kServerOptions);

std::string show_json(const std::vector<const TypeRow*>& types, const Parts& cpus, const Parts& nodes,
                      const std::vector<std::uint64_t>& amounts, bool is_compact) {
  JsonWriter json("1", is_compact);
  json.field("type", full_name(*types.front()));
  for (const Column* figure : kColumns) {
    if (const auto sum = sum_of(types, *figure)) json.field(figure->key, *sum);
  }
  if (const NearestLimit limit = nearest_limit(*types.front()); limit.used) json.field("limit_used_ratio", *limit.used);
  write_headroom(json, types.front()->headroom);
  if (const LimitWord* const word = limit_word(types.front()->os, types.front()->allocator, types.front()->name)) {
    json.field("limit_tunable", word->tunable).field("limit_set_in", word->where);
    if (!word->note.empty()) json.field("limit_note", word->note);
  }
  if (!types.front()->detail.empty()) json.field("detail", types.front()->detail);
  if (!types.front()->also.empty()) json.list("also", types.front()->also);
  for (const Parts* const parts : {&cpus, &nodes}) {
    if (!parts->columns.empty()) with_part_table(*parts, [&](const ReportTable& table) { table.write_list(json); });
  }
  if (!amounts.empty()) json.list("history", amounts);
  return json.finish();
}

Report run_show(const CommandLine& options) {
  const OpenedSource opened = open_source(options.from, options.server);
  if (opened.source == nullptr) return {.problem = opened.problem};
  return show(*opened.source, options.type, options.view);
}

}  // namespace

Report show(ReportSource& source, const std::string& word, const ReportView& view) {
  Sample sample = source.read();
  note_system(sample, source);
  if (sample.types.empty()) return {.problem = sample.problem, .notes = sample.notes, .missing = sample.missing};
  Report report{.notes = sample.notes, .missing = sample.missing};
  report.missing.insert(report.missing.end(), sample.unscraped.begin(), sample.unscraped.end());
  const NamedType named = find_named_type(sample.types, word);
  if (named.types.empty()) {
    report_unknown_type(report, named);
    return report;
  }
  Parts cpus{.title = "CPU", .key = "cpu", .list = "cpus", .columns = {}};
  Parts nodes{.title = "NODE", .key = "node", .list = "nodes", .columns = {}};
  for (const TypeRow* const type : named.types) {
    const Splits splits = source.splits(*type);
    if (!splits.problem.empty()) report.notes.push_back(splits.problem);
    add_splits(cpus.columns, splits.cpus);
    add_splits(nodes.columns, splits.nodes);
  }
  fill_shares(cpus);
  fill_shares(nodes);
  const TypeRow& type = *named.types.front();
  const std::string name = full_name(type);
  const bool has_parts = !cpus.columns.empty() || !nodes.columns.empty();
  if (!has_parts) report.notes.push_back(source.why_no_splits(printable(name)));
  const std::vector<std::uint64_t> amounts = history_of(source, sample, type);
  const auto print = [&](const ReportTable& table) { return table.print(view); };
  if (view.layout == Layout::kJson) {
    report.output = show_json(named.types, cpus, nodes, amounts, view.is_compact);
  } else if (view.layout == Layout::kCsv) {
    report.output = has_parts ? with_part_table(cpus.columns.empty() ? nodes : cpus, print)
                              : types_table(copies_of(named.types)).print(view);
  } else {
    const bool is_human = view.is_human;
    report.output = printable(name) + (type.detail.empty() ? "" : "  " + printable(type.detail)) + "\n" +
                    figures_text(named.types, is_human) + headroom_text(type.headroom, is_human) + limit_text(type) +
                    merged_text(type);
    for (const Parts* const parts : {&cpus, &nodes}) {
      if (!parts->columns.empty()) report.output += "\n" + with_part_table(*parts, print);
    }
    report.output += history_text(amounts, has(type, kBytesInUse), is_human) + meaning_text(type.name);
  }
  return report;
}

const Command kShowCommand{"show",
                           Group::kLook,
                           "One type: its values, by CPU and node, its history, and what it is",
                           "memstatctl show dentry\n"
                           "memstatctl show uma/mbuf_cluster --from bug.tar.zst\n"
                           "memstatctl show slab/dentry --json --from http://127.0.0.1:8947",
                           kShowOptions,
                           run_show,
                           "cpu"};

}  // namespace memstat::ctl
