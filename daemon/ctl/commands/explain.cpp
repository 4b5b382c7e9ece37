// SPDX-License-Identifier: BSD-2-Clause
// Explains a word: its meaning, source and remedy.
#include <array>
#include <string_view>
#include <vector>

#include "daemon/ctl/commands/shared_options.h"
#include "daemon/explain/explain.h"

namespace memstat::ctl {
namespace {

/// Removes Markdown from a line: `code`, **strong**, and the link of [words](#link).
std::string without_marks(std::string_view line) {
  std::string text;
  while (!line.empty()) {
    const std::size_t middle = line.find("](");
    const std::size_t end = line.find(')', middle == std::string_view::npos ? line.size() : middle);
    if (line[0] == '[' && middle != std::string_view::npos && end != std::string_view::npos) {
      text += without_marks(line.substr(1, middle - 1));
      line.remove_prefix(end + 1);
    } else if (line[0] == '`' || line.starts_with("**")) {
      line.remove_prefix(line[0] == '`' ? 1 : 2);
    } else {
      text += line[0];
      line.remove_prefix(1);
    }
  }
  return text;
}

/// Formats a runbook as text: paragraphs and lists are wrapped, examples are kept as they are.
std::string runbook_text(std::string_view section) {
  std::string text;
  std::string paragraph;
  std::string indent;
  bool is_example = false;
  const auto finish = [&] {
    const bool is_item = paragraph.starts_with("* ");
    if (!paragraph.empty()) text += wrapped(paragraph, indent + (is_item ? "    " : "  ")).substr(is_item ? 2 : 0);
    paragraph.clear();
    indent.clear();
  };
  while (!section.empty()) {
    const std::string_view line = section.substr(0, section.find('\n'));
    section.remove_prefix(std::min(section.size(), line.size() + 1));
    const std::string_view words = trim(line);
    const bool is_fence = words.starts_with("```");
    if (is_fence || words.empty() || words.starts_with("* ")) finish();
    if (is_fence) {
      is_example = !is_example;
    } else if (is_example) {
      text += "    " + std::string(line) + "\n";
    } else if (words.empty()) {
      text += "\n";
    } else {
      if (paragraph.empty()) indent = std::string(line.find_first_not_of(' '), ' ');
      paragraph += (paragraph.empty() ? "" : " ") + without_marks(words);
    }
  }
  finish();
  return text;
}

std::string text_of_explanation(const Explanation& found) {
  std::string text = found.name + " (" + found.kind + ")\n";
  text += found.kind == "alert" ? runbook_text(found.what) : wrapped(found.what, "  ");
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
    table.add(
        {one.kind, printable_bytes(one.name), one.what, cell_of_text(separated(one.where, "; ")), cell_of_text(one.growth)});
  }
  return table;
}

constexpr std::array kExplainOptions{
    argument("WORD", {1, 1},
             "An allocator, a type, a metric, a column such as USED, an alert, a value\nsuch as held_bytes, or a source",
             store<&CommandLine::word>),
    kJsonOption, kCsvOption};

Report run_explain(const CommandLine& options) {
  const std::vector<Explanation> found = explain(options.word);
  if (found.empty()) {
    return {.problem = "\"" + printable_bytes(options.word) +
                       "\" is not a known allocator, type, metric, column, alert, value, cause or source" +
                       did_you_mean(options.word, explained_words())};
  }
  if (options.view.layout != Layout::kText) return {.output = explain_table(found).print(options.view)};
  std::string text;
  for (const Explanation& one : found) {
    text += text.empty() ? "" : "\n";
    Explanation shown = one;
    shown.name = printable_bytes(one.name);
    text += text_of_explanation(shown);
  }
  return {.output = text};
}

}  // namespace

const Command kExplainCommand{"explain",
                              Group::kHelp,
                              "Explains an allocator, type, metric, column, alert or cause",
                              "memstatctl explain dentry\n"
                              "memstatctl explain allocator\n"
                              "memstatctl explain memstat_type_held_bytes\n"
                              "memstatctl explain MemstatNearLimit",
                              kExplainOptions,
                              run_explain};

}  // namespace memstat::ctl
