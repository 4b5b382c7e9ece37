// SPDX-License-Identifier: BSD-2-Clause
// What a word of this field means.

#include <array>
#include <string_view>
#include <vector>

#include "daemon/ctl/commands/commands.h"
#include "daemon/ctl/output/cells.h"
#include "daemon/ctl/output/nearest_words.h"
#include "daemon/ctl/output/report_table.h"
#include "daemon/explain/explain.h"

namespace memstat::ctl {
namespace {

std::string text_of_explanation(const Explanation& found) {
  std::string text = found.name + " (" + found.kind + ")\n";
  // A runbook has lines and examples of its own.
  text += found.kind == "alert" ? found.what + "\n" : wrapped(found.what, "  ");
  if (!found.where.empty()) text += "  Where it is counted:\n";
  for (const std::string& line : found.where) text += wrapped(line, "    ");
  if (!found.growth.empty()) text += "  When it grows:\n" + wrapped(found.growth, "    ");
  return text;
}

constexpr std::array<ReportColumn, 5> kExplainColumns{{{.key = "kind", .title = ""},
                                                       {.key = "name", .title = ""},
                                                       {.key = "what", .title = ""},
                                                       {.key = "where", .title = ""},
                                                       {.key = "growth", .title = ""}}};

ReportTable explain_table(const std::vector<Explanation>& found) {
  ReportTable table("explanations", kExplainColumns);
  for (const Explanation& one : found) {
    std::string where;
    for (const std::string& line : one.where) where += (where.empty() ? "" : "; ") + line;
    table.add({one.kind, printable_bytes(one.name), one.what, cell_of_text(where), cell_of_text(one.growth)});
  }
  return table;
}

void add_explain(OptionAdder& add) {
  add.word();
  add.json();
  add.csv();
}

Report run_explain(const CommandLine& options) {
  const std::vector<Explanation> found = explain(options.word);
  if (found.empty()) {
    return {.output = {},
            .problem = "\"" + printable_bytes(options.word) + "\" is no metric, type, alert, value or source that is known" +
                       did_you_mean(options.word, explained_words())};
  }
  if (options.view.layout != Layout::kText) return {.output = explain_table(found).print(options.view), .problem = {}};
  std::string text;
  for (const Explanation& one : found) {
    text += text.empty() ? "" : "\n";
    Explanation shown = one;
    shown.name = printable_bytes(one.name);
    text += text_of_explanation(shown);
  }
  return {.output = text, .problem = {}};
}

}  // namespace

const Command kExplainCommand{"explain",
                              Group::kHelp,
                              "What a metric, type, alert or value is, where it is counted, what to do when it grows",
                              "memstatctl explain dentry\n"
                              "memstatctl explain memstat_type_held_bytes\n"
                              "memstatctl explain MemstatNearLimit",
                              add_explain,
                              run_explain};

}  // namespace memstat::ctl
