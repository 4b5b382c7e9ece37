// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/explain_report.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "daemon/ctl/output/cells.h"
#include "daemon/ctl/output/json_writer.h"
#include "daemon/ctl/output/nearest_words.h"
#include "daemon/explain/explain.h"

namespace memstat::ctl {
namespace {

constexpr std::size_t kTextWidth = 100;

/// The words in lines of at most kTextWidth columns, each behind the indent; lines of the text stay lines.
std::string wrapped(std::string_view text, std::string_view indent) {
  std::string out;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    while (line.size() + indent.size() > kTextWidth) {
      const std::size_t blank = line.rfind(' ', kTextWidth - indent.size());
      if (blank == std::string_view::npos || blank == 0) break;
      out.append(indent).append(line.substr(0, blank)).append("\n");
      line.remove_prefix(blank + 1);
    }
    out.append(line.empty() ? "" : indent).append(line).append("\n");
  }
  return out;
}

std::string text_of_explanation(const Explanation& found) {
  std::string text = found.name + " (" + found.kind + ")\n";
  // A runbook has lines and examples of its own.
  text += found.kind == "alert" ? found.what + "\n" : wrapped(found.what, "  ");
  if (!found.where.empty()) text += "  Where it is counted:\n";
  for (const std::string& line : found.where) text += wrapped(line, "    ");
  if (!found.growth.empty()) text += "  When it grows:\n" + wrapped(found.growth, "    ");
  return text;
}

std::string csv_of_explanations(const std::vector<Explanation>& found) {
  std::vector<TableRow> rows(1, {"KIND", "NAME", "WHAT", "WHERE", "GROWTH"});
  for (const Explanation& one : found) {
    std::string where;
    for (const std::string& line : one.where) where += (where.empty() ? "" : "; ") + line;
    rows.push_back({one.kind, printable_bytes(one.name), one.what, where, one.growth});
  }
  return table_csv(rows);
}

}  // namespace

Report explain_report(const std::string& word, Layout layout) {
  const std::vector<Explanation> found = explain(word);
  if (found.empty()) {
    return {.output = {},
            .problem = "\"" + printable_bytes(word) + "\" is no metric, type, alert, value or source that is known" +
                       did_you_mean(word, explained_words())};
  }
  if (layout == Layout::kCsv) return {.output = csv_of_explanations(found), .problem = {}};
  if (layout == Layout::kJson) {
    JsonWriter json("1");
    json.open_list("explanations");
    for (const Explanation& one : found) {
      json.open_object().field("kind", one.kind).field("name", printable_bytes(one.name)).field("what", one.what);
      if (!one.where.empty()) {
        json.open_list("where");
        for (const std::string& line : one.where) json.member(line);
        json.close();
      }
      if (!one.growth.empty()) json.field("growth", one.growth);
      json.close();
    }
    return {.output = json.finish(), .problem = {}};
  }
  std::string text;
  for (const Explanation& one : found) {
    text += text.empty() ? "" : "\n";
    Explanation shown = one;
    shown.name = printable_bytes(one.name);
    text += text_of_explanation(shown);
  }
  return {.output = text, .problem = {}};
}

}  // namespace memstat::ctl
