// SPDX-License-Identifier: BSD-2-Clause
// The state of the sources, as in memstatd --selftest: those of the running memstatd, or of this process if none runs.
#include <algorithm>
#include <array>

#include "daemon/ctl/commands/shared_options.h"
#include "daemon/ctl/output/progress.h"
#include "daemon/ctl/source/api_answers.h"
#include "daemon/ctl/source/http_client.h"
#include "daemon/ctl/source/report_source.h"
#include "daemon/selftest/selftest.h"

namespace memstat::ctl {

namespace {

constexpr std::array<ReportColumn, 9> kDoctorColumns{{{.key = "source", .title = ""},
                                                      {.key = "state", .title = ""},
                                                      {.key = "types", .title = "", .unit = Unit::kNumber},
                                                      {.key = "default", .title = ""},
                                                      {.key = "origin", .title = ""},
                                                      {.key = "reason", .title = ""},
                                                      {.key = "advice", .title = ""},
                                                      {.key = "needs", .title = ""},
                                                      {.key = "max_files", .title = "", .unit = Unit::kNumber}}};

struct Examined {
  SelfTest test;
  std::string problem;  ///< Why there is no result; "" if there is one.
};

Examined examine_daemon(const std::string& url) {
  Examined examined{.test = {.url = parse_url(url).url.for_logs}, .problem = {}};
  DaemonAnswer answer = ask_daemon(url, "/api/v1/sources");
  examined.problem = std::move(answer.problem);
  if (examined.problem.empty() && !parse_sources_answer(answer.text, examined.test)) {
    examined.problem = examined.test.url + ": the response is not from memstatd; does another program listen there?";
  }
  return examined;
}

Examined examine_this_process() {
  Progress progress;
  Result<SelfTest> test =
      test_this_machine([&progress](std::string_view source) { progress.show("trying " + std::string(source)); });
  progress.finish();
  if (!test) return {.test = {}, .problem = to_string(test.error())};
  return {.test = *std::move(test), .problem = {}};
}

Examined examine(const std::optional<std::string>& from) {
  if (from) return *from == "live" ? examine_this_process() : examine_daemon(*from);
  Examined running = examine_daemon(kThisDaemon);
  return running.problem.empty() ? running : examine_this_process();  // no memstatd seems to run here
}

ReportTable doctor_table(const SelfTest& test) {
  ReportTable table("sources", kDoctorColumns);
  const std::pair<std::string_view, std::string> heads[] = {
      {"url", test.url},         {"version", test.version}, {"kernel", test.kernel},
      {"account", test.account}, {"warning", test.warning}, {"mounts", separated(test.mounts, "; ")}};
  for (const auto& [key, text] : heads) {
    if (!text.empty()) table.add_head(key, text);
  }
  table.add_head("healthy", test.is_healthy());
  for (const SourceTrial& trial : test.trials) {
    const bool works = trial.health == SourceHealth::kWorks;
    const bool has_budget = trial.max_files != SourceDescriptor::kFilesVary;
    table.add({trial.source, std::string(to_string(trial.health)), works ? Cell(std::uint64_t{trial.types}) : Cell(),
               std::string(trial.is_on_by_default ? "auto" : "off"), trial.origin, cell_of_text(trial.reason),
               cell_of_text(trial.advice), cell_of_text(trial.needs),
               has_budget ? Cell(std::uint64_t{trial.max_files}) : Cell()});
  }
  return table;
}

std::string check_daemon(const std::string& text) {
  if (text == "live") return {};
  return is_url(meant_reference(text))
             ? check_from_anywhere(text)
             : text + " is not a URL: give http://HOST:PORT, or live for what this process may read";
}

constexpr std::array kDoctorOptions{
    valued(
        "--from", "live|URL",
        "The running memstatd to examine; http://127.0.0.1:8947 by default, if\none answers there, else live: what this "
        "process may read",
        [](CommandLine& line, const std::string& text) { line.from = meant_reference(text); }, check_daemon),
    kJsonOption, kCsvOption};

Report run_doctor(const CommandLine& options) {
  const Layout layout = options.view.layout;
  const auto [test, problem] = examine(options.from);
  if (!problem.empty()) return {.problem = problem};
  Report report;
  report.output = layout == Layout::kText ? fitted(selftest_text(test)) : doctor_table(test).print(options.view);
  const auto failed =
      std::count_if(test.trials.begin(), test.trials.end(), [](const SourceTrial& trial) { return trial.is_failure(); });
  if (failed != 0) report.problem = std::to_string(failed) + " of the sources that this kernel has do not work";
  if (test.lacks_proc()) report.problem = test.mounts.front();
  if (!test.warning.empty()) report.problem += (report.problem.empty() ? "" : "; ") + test.warning;
  return report;
}

}  // namespace

const Command kDoctorCommand{"doctor",
                             Group::kHelp,
                             "Which sources of the running memstatd work, and what would permit the rest",
                             "memstatctl doctor\n"
                             "memstatctl doctor --from http://127.0.0.1:8947\n"
                             "memstatctl doctor --from live",
                             kDoctorOptions,
                             run_doctor};

}  // namespace memstat::ctl
