// SPDX-License-Identifier: BSD-2-Clause
// What works of the sources and what does not, as memstatd --selftest has it: of the memstatd that runs here, or of this
// process where none does.
#include <algorithm>
#include <array>

#include "daemon/ctl/commands/commands.h"
#include "daemon/ctl/output/cells.h"
#include "daemon/ctl/output/json_writer.h"
#include "daemon/ctl/output/progress.h"
#include "daemon/ctl/source/api_answers.h"
#include "daemon/ctl/source/http_answer.h"
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

constexpr const char* kDefaultUrl = "http://127.0.0.1:8947";

struct Examined {
  SelfTest test;
  std::string problem;  ///< Why there is none, for people; "" exactly when there is one.
};

Examined examine_daemon(const std::string& url) {
  Examined examined{.test = {.url = parse_url(url).url.for_logs}, .problem = {}};
  DaemonAnswer answer = ask_daemon(url, "/api/v1/sources");
  examined.problem = std::move(answer.problem);
  if (examined.problem.empty() && !parse_sources_answer(answer.text, examined.test)) {
    examined.problem = examined.test.url + ": the answer is not what memstatd sends; is this another program?";
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
  Examined running = examine_daemon(kDefaultUrl);
  return running.problem.empty() ? running : examine_this_process();  // nothing says that one runs here
}

std::string doctor_json(const SelfTest& test) {
  JsonWriter json("1");
  const std::pair<std::string_view, std::string_view> texts[] = {{"url", test.url}, {"version", test.version}};
  for (const auto& [key, text] : texts) {
    if (!text.empty()) json.field(key, text);
  }
  json.field("kernel", test.kernel);
  json.field("account", test.account);
  json.field("healthy", test.is_healthy());
  if (!test.warning.empty()) json.field("warning", test.warning);
  json.open_list("sources");
  for (const SourceTrial& trial : test.trials) {
    json.open_object({});
    json.field("source", trial.source);
    json.field("origin", trial.origin);
    json.field("default", trial.is_on_by_default ? "auto" : "off");
    json.field("state", to_string(trial.health));
    if (trial.health == SourceHealth::kWorks) json.field("types", trial.types);
    if (trial.max_files != SourceDescriptor::kFilesVary) json.field("max_files", trial.max_files);
    if (!trial.needs.empty()) json.field("needs", trial.needs);
    if (!trial.reason.empty()) json.field("reason", trial.reason);
    if (!trial.advice.empty()) json.field("advice", trial.advice);
    json.close();
  }
  json.close();
  if (!test.mounts.empty()) {
    json.open_list("mounts");
    for (const std::string& line : test.mounts) {
      json.open_object({});
      json.field("advice", line);
      json.close();
    }
    json.close();
  }
  return json.finish();
}

ReportTable doctor_table(const SelfTest& test) {
  ReportTable table("sources", kDoctorColumns);
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

void add_doctor(OptionAdder& add) {
  add.from_daemon_or_live();
  add.json();
  add.csv();
}

Report run_doctor(const CommandLine& options) {
  const Layout layout = options.view.layout;
  const auto [test, problem] = examine(options.from);
  if (!problem.empty()) return {.output = {}, .problem = problem};
  Report report;
  if (layout == Layout::kJson) report.output = laid_out(doctor_json(test), options.view);
  if (layout == Layout::kCsv) report.output = doctor_table(test).print({.layout = Layout::kCsv});
  if (layout == Layout::kText) report.output = selftest_text(test);
  const auto failed =
      std::count_if(test.trials.begin(), test.trials.end(), [](const SourceTrial& trial) { return trial.is_failure(); });
  if (failed != 0) report.problem = std::to_string(failed) + " of the sources that this kernel has do not work";
  if (!test.warning.empty()) report.problem += (report.problem.empty() ? "" : "; ") + test.warning;
  return report;
}

}  // namespace

const Command kDoctorCommand{"doctor",
                             Group::kHelp,
                             "What works of the sources of the memstatd that runs here, and what would permit the rest",
                             "memstatctl doctor\n"
                             "memstatctl doctor --from http://127.0.0.1:8947\n"
                             "memstatctl doctor --from live",
                             add_doctor,
                             run_doctor};

}  // namespace memstat::ctl
