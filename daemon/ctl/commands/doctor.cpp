// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/doctor.h"

#include <algorithm>
#include <array>
#include <vector>

#include "daemon/ctl/commands/commands.h"
#include "daemon/ctl/output/cells.h"
#include "daemon/ctl/output/json_writer.h"
#include "daemon/ctl/output/progress.h"
#include "daemon/ctl/source/http_answer.h"
#include "daemon/ctl/source/report_source.h"

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

/// Whether a person may want to know of it: all but what is up, off, not of this kernel or spared.
bool is_notable(const DaemonState::Source& source) { return source.state == "down" || source.state == "not permitted"; }

std::optional<RunningDaemon> running_daemon(const std::optional<std::string>& url) {
  const std::string asked = url.value_or(kDefaultUrl);
  RunningDaemon daemon{.url = parse_url(asked).url.for_logs, .state = {}, .problem = {}};
  DaemonAnswer answer = ask_daemon(asked, "/api/v1/sources");
  daemon.problem = std::move(answer.problem);
  if (daemon.problem.empty() && !parse_sources_answer(answer.text, daemon.state)) {
    daemon.problem = daemon.url + ": the answer is not what memstatd sends; is this another program?";
  }
  // Nothing says that one runs here.
  if (!daemon.problem.empty() && !url) return std::nullopt;
  return daemon;
}

void write_daemon(JsonWriter& json, const RunningDaemon& daemon) {
  json.open_object("memstatd");
  json.field("url", daemon.url);
  json.field("healthy", daemon.is_healthy());
  if (!daemon.problem.empty()) json.field("problem", daemon.problem);
  if (!daemon.state.version.empty()) json.field("version", daemon.state.version);
  if (!daemon.state.warning.empty()) json.field("warning", daemon.state.warning);
  json.open_list("sources");
  for (const DaemonState::Source& source : daemon.state.sources) {
    json.open_object({});
    json.field("source", source.name);
    json.field("state", source.state);
    if (!source.needs.empty()) json.field("needs", source.needs);
    if (!source.error.empty()) json.field("reason", source.error);
    json.close();
  }
  json.close();
  json.close();
}

}  // namespace

bool RunningDaemon::is_healthy() const {
  return problem.empty() && state.warning.empty() &&
         std::none_of(state.sources.begin(), state.sources.end(),
                      [](const DaemonState::Source& source) { return source.state == "down"; });
}

std::string running_daemon_text(const RunningDaemon& daemon) {
  if (!daemon.problem.empty()) return "\nThe running memstatd: " + printable_bytes(daemon.problem) + "\n";
  const auto up = std::count_if(daemon.state.sources.begin(), daemon.state.sources.end(),
                                [](const DaemonState::Source& source) { return source.state == "up"; });
  std::string text = "\nThe memstatd at " + daemon.url + " (version " + printable_bytes(daemon.state.version) + ") has " +
                     std::to_string(up) + (up == 1 ? " source" : " sources") + " up.\n";
  for (const DaemonState::Source& source : daemon.state.sources) {
    if (!is_notable(source)) continue;
    std::string_view why = source.error;
    if (why.starts_with(source.name + ": ")) why.remove_prefix(source.name.size() + 2);
    text += "  " +
            printable_bytes(source.name + ": " + source.state + (source.needs.empty() ? "" : ", needs " + source.needs) +
                            (why.empty() ? "" : ": " + std::string(why))) +
            "\n";
  }
  if (!daemon.state.warning.empty()) text += "  warning: " + printable_bytes(daemon.state.warning) + "\n";
  return text;
}

std::string doctor_json(const SelfTest& test, const RunningDaemon* daemon) {
  JsonWriter json("1");
  json.field("kernel", test.kernel);
  json.field("account", test.account);
  json.field("healthy", test.is_healthy() && (daemon == nullptr || daemon->is_healthy()));
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
  if (daemon != nullptr) write_daemon(json, *daemon);
  return json.finish();
}

ReportTable doctor_table(const SelfTest& test) {
  ReportTable table("sources", kDoctorColumns);
  for (const SourceTrial& trial : test.trials) {
    const bool works = trial.health == SourceHealth::kWorks;
    const bool has_budget = trial.max_files != SourceDescriptor::kFilesVary;
    table.add({std::string(trial.source), std::string(to_string(trial.health)),
               works ? Cell(std::uint64_t{trial.types}) : Cell(), std::string(trial.is_on_by_default ? "auto" : "off"),
               std::string(trial.origin), cell_of_text(trial.reason), cell_of_text(trial.advice),
               cell_of_text(std::string(trial.needs)), has_budget ? Cell(std::uint64_t{trial.max_files}) : Cell()});
  }
  return table;
}

namespace {

void add_doctor(OptionAdder& add) {
  add.from_daemon();
  add.json();
  add.csv();
}

Report run_doctor(const CommandLine& options) {
  const Layout layout = options.view.layout;
  const std::optional<std::string>& url = options.from;
  Progress progress;
  const Result<SelfTest> test =
      test_this_machine([&progress](std::string_view source) { progress.show("trying " + std::string(source)); });
  progress.finish();
  if (!test) return {.output = {}, .problem = to_string(test.error())};
  const auto failed =
      std::count_if(test->trials.begin(), test->trials.end(), [](const SourceTrial& trial) { return trial.is_failure(); });
  const std::optional<RunningDaemon> daemon = running_daemon(url);
  Report report;
  if (layout == Layout::kJson) report.output = laid_out(doctor_json(*test, daemon ? &*daemon : nullptr), options.view);
  if (layout == Layout::kCsv) report.output = doctor_table(*test).print({.layout = Layout::kCsv});
  if (layout == Layout::kText) report.output = selftest_text(*test) + (daemon ? running_daemon_text(*daemon) : "");
  if (failed != 0) report.problem = std::to_string(failed) + " of the sources that this kernel has do not work";
  if (daemon && !daemon->is_healthy()) {
    report.problem += (report.problem.empty() ? "" : "; ") + std::string("the memstatd at ") + daemon->url +
                      (!daemon->problem.empty()        ? " does not answer as one: " + daemon->problem
                       : daemon->state.warning.empty() ? " has sources that are down"
                                                       : ": " + daemon->state.warning);
  }
  return report;
}

}  // namespace

const Command kDoctorCommand{"doctor",
                             Group::kHelp,
                             "What works of this machine's sources, what is absent, which permission is missing",
                             "memstatctl doctor\n"
                             "memstatctl doctor --from http://127.0.0.1:8947",
                             add_doctor,
                             run_doctor};

}  // namespace memstat::ctl
