// SPDX-License-Identifier: BSD-2-Clause
// memstatctl who: prints the inspections of core/inspect.
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "core/diagnosis/words.h"
#include "core/kernel/open_view.h"
#include "daemon/ctl/commands/shared_options.h"
#include "daemon/ctl/source/inspections.h"
#include "daemon/ctl/source/report_source.h"
#include "daemon/poll/answer_finder.h"
#include "daemon/poll/capture_bound.h"

namespace memstat::ctl {
namespace {

constexpr std::array<ReportColumn, 8> kHolderColumns{{{.key = "command", .title = "COMMAND", .least = 8},
                                                      {.key = "name", .title = "NAME", .least = 16},
                                                      {.key = "user", .title = "USER", .rank = 2, .least = 8},
                                                      {.key = "group", .title = "GROUP", .rank = 3, .least = 16},
                                                      {.key = "pid", .title = "PID", .unit = Unit::kNumber, .rank = 1},
                                                      {.key = "count", .title = "COUNT", .unit = Unit::kNumber},
                                                      {.key = "limit", .title = "LIMIT", .unit = Unit::kNumber},
                                                      {.key = "bytes", .title = "BYTES", .unit = Unit::kBytes}}};
constexpr std::size_t kHolderNames = 4;

constexpr std::array<ReportColumn, 4> kQuestionColumns{{{.key = "question", .title = "QUESTION"},
                                                        {.key = "what", .title = "WHAT IT ANSWERS", .least = 30},
                                                        {.key = "system", .title = "SYSTEM", .rank = 2},
                                                        {.key = "needs", .title = "NEEDS", .rank = 1}}};

constexpr auto kWhoOptions = joined(
    std::array{
        argument("QUESTION", {0, 1}, "files, pipes, ...; by default the list of questions", store<&CommandLine::question>),
        argument("PATTERN", {0, Option::kAny},
                 "Holders whose command, user, group or name has a part that matches this\nregular "
                 "expression",
                 add_pattern, check_pattern),
        kKernelOption, kFromOption,
        valued("--for", "DURATION", "How long the question may take: 5s by default, of which 200ms of CPU time", set_window,
               check_window)},
    kReportOptions);

#if defined(__FreeBSD__)
constexpr std::array kSystems{OperatingSystem::kFreeBsd, OperatingSystem::kLinux};
#else
constexpr std::array kSystems{OperatingSystem::kLinux, OperatingSystem::kFreeBsd};
#endif

/// This system's questions come first.
Report list_questions(const ReportView& view) {
  ReportTable table("questions", kQuestionColumns);
  for (const OperatingSystem system : kSystems) {
    for (const Inspection* const one : all_inspections()) {
      if (one->os != system) continue;
      table.add({std::string(one->name), std::string(one->question), std::string(to_string(one->os)),
                 cell_of_text(std::string(one->needs))});
    }
  }
  return report_of(std::move(table), view);
}

/// The question on a system that answers it; nullptr if none does.
const Inspection* find_elsewhere(std::string_view question) {
  for (const OperatingSystem system : kSystems) {
    if (const Inspection* const found = find_inspection(question, system); found != nullptr) return found;
  }
  return nullptr;
}

Report unknown_question(const std::string& question) {
  const std::vector<std::string> known = question_names();
  return {.problem = "\"" + printable_bytes(question) + "\" is not a question" +
                     did_you_mean(question, known, "memstatctl who lists them")};
}

/// What was not examined may hold it.
std::string nobody(const InspectionAnswer& answer) {
  if (!answer.is_partial()) return "Nobody.\n";
  const std::string seen = seen_text(answer);
  return "Nobody in the part that was seen" + (seen.empty() ? std::string() : ": " + seen) + ".\n";
}

Report report_on(const InspectionAnswer& answer, const ReportView& view, bool is_replay) {
  std::array<ReportColumn, kHolderColumns.size()> columns = kHolderColumns;
  std::array<bool, columns.size()> has_any{};
  std::vector<std::vector<Cell>> rows;
  for (const Holder& one : answer.holders) {
    std::vector<Cell> row{cell_of_text(one.command),
                          cell_of_text(one.name),
                          cell_of_text(one.user),
                          cell_of_text(one.group),
                          one.pid == 0 ? Cell() : Cell(one.pid),
                          cell_of(one.count),
                          cell_of(one.limit),
                          cell_of(one.bytes)};
    for (std::size_t i = 0; i < row.size(); ++i) has_any[i] |= !std::holds_alternative<std::monostate>(row[i]);
    rows.push_back(std::move(row));
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (!has_any[i]) columns[i].title = "";  // not in text
  }
  ReportTable table("holders", columns, kHolderNames);
  table.add_head("question", std::string(answer.question));
  table.add_head("asked", time_text(answer.asked_ns, true));
  table.add_head("looked_at", answer.looked_at);
  table.add_head("refused", answer.refused);
  table.add_head("unlisted", answer.unlisted);
  table.add_head("is_cut", answer.is_cut);
  if (!answer.view.is_whole()) table.add_head("lacks", answer.view.names());
  table.add_head("seen", cell_of(answer.seen));
  table.add_head("total", cell_of(answer.total));
  table.add_head("parts", answer.seen ? cell_of_text(std::string(answer.parts)) : Cell());
  for (std::vector<Cell>& row : rows) table.add(std::move(row));
  if (view.layout != Layout::kText) return report_of(std::move(table), view);
  const std::string asked = is_replay ? "Asked at " + time_text(answer.asked_ns, true) + ".\n" : "";
  const bool is_nobody = table.empty();
  Report report = is_nobody ? Report{.output = nobody(answer)} : report_of(std::move(table), view);
  const std::string seen = is_nobody && answer.is_partial() ? std::string() : seen_text(answer);
  if (report.problem.empty()) report.output = asked + report.output + (seen.empty() ? "" : "Examined: " + seen + ".\n");
  return report;
}

/// Who asks for more time has it, and is not bounded by numbers.
InspectionBounds bounds_of(const CommandLine& options, Progress& progress, const Inspection& inspection) {
  InspectionBounds bounds = bounds_with(progress, inspection, options.window_ns.value_or(kPatienceNs));
  if (!options.window_ns) return bounds;
  bounds.max_cpu_ns = *options.window_ns;
  bounds.max_objects = UINT64_MAX;
  return bounds;
}

Report run_who(const CommandLine& options) {
  if (options.question.empty()) return list_questions(options.view);
  const Inspection* const elsewhere = find_elsewhere(options.question);
  if (elsewhere == nullptr) return unknown_question(options.question);
  const std::string reference = reference_or_default(options.from);
  const Result<std::uint64_t> max_bytes = capture_bound(std::nullopt);
  if (!max_bytes) return {.problem = to_string(max_bytes.error())};
  const auto opened = open_view(reference, {.max_bytes = *max_bytes});
  if (!opened) return {.problem = to_string(opened.error())};
  const Inspection* const inspection = find_inspection(options.question, opened->view->os());
  if (inspection == nullptr) {
    return {.problem = "memstatctl who " + options.question + " is for " + std::string(to_string(elsewhere->os)) +
                       " kernels only" + (elsewhere->elsewhere.empty() ? "" : "; " + std::string(elsewhere->elsewhere))};
  }
  const bool is_replay = reference != kLiveReference;
  if (is_replay && options.window_ns) return {.problem = "--for is for this machine: a recording has its answers already"};
  Progress progress;
  const auto answer =
      AnswerFinder().find(*opened->view, opened->capture, *inspection, bounds_of(options, progress, *inspection));
  progress.finish();
  if (!answer) {
    const bool is_absent = is_replay && answer.error().code == ErrorCode::kNotPresent;
    return {.problem = is_absent ? "this capture has no answer to \"" + options.question +
                                       "\"; memstatctl record --who stores those that the kernel can answer"
                                 : to_string(answer.error()),
            .notes = opened->notes};
  }
  Report report = report_on(*answer, options.view, is_replay);
  report.notes = opened->notes;
  if (std::string line = missing_of(*answer, *inspection, is_replay); !line.empty())
    report.missing.push_back(std::move(line));
  return report;
}

}  // namespace

const Command kWhoCommand{"who",
                          Group::kMachine,
                          "Who holds files, pipes, sockets, locked memory and more, largest first",
                          "memstatctl who\n"
                          "memstatctl who files --limit 10\n"
                          "memstatctl who anonymous --from bug.tar.zst --json",
                          kWhoOptions,
                          run_who};

}  // namespace memstat::ctl
