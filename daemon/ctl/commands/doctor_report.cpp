// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/doctor_report.h"

#include <algorithm>
#include <vector>

#include "daemon/ctl/output/cells.h"
#include "daemon/ctl/output/json_writer.h"
#include "daemon/ctl/output/progress.h"

namespace memstat::ctl {

std::string doctor_json(const SelfTest& test) {
  JsonWriter json("1");
  json.field("kernel", test.kernel);
  json.field("account", test.account);
  json.field("healthy", test.is_healthy());
  json.open_list("sources");
  for (const SourceTrial& trial : test.trials) {
    json.open_object({});
    json.field("source", trial.source);
    json.field("origin", trial.origin);
    json.field("default", trial.is_on_by_default ? "auto" : "off");
    json.field("state", to_string(trial.health));
    if (trial.health == SourceHealth::kWorks) json.field("types", trial.types);
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
  }
  return json.finish();
}

std::string doctor_csv(const SelfTest& test) {
  std::vector<TableRow> rows(1, {"SOURCE", "STATE", "TYPES", "DEFAULT", "ORIGIN", "REASON", "ADVICE"});
  for (const SourceTrial& trial : test.trials) {
    const bool works = trial.health == SourceHealth::kWorks;
    rows.push_back({std::string(trial.source), std::string(to_string(trial.health)),
                    works ? std::to_string(trial.types) : "-", trial.is_on_by_default ? "auto" : "off",
                    std::string(trial.origin), trial.reason, trial.advice});
  }
  return table_csv(rows);
}

Report doctor_report(Layout layout) {
  Progress progress;
  const Result<SelfTest> test =
      test_this_machine([&progress](std::string_view source) { progress.show("trying " + std::string(source)); });
  progress.finish();
  if (!test) return {.output = {}, .problem = to_string(test.error())};
  const auto failed = std::count_if(test->trials.begin(), test->trials.end(), [](const SourceTrial& trial) {
    return trial.is_on_by_default && trial.health != SourceHealth::kWorks && trial.health != SourceHealth::kAbsent;
  });
  Report report{.output = layout == Layout::kJson  ? doctor_json(*test)
                          : layout == Layout::kCsv ? doctor_csv(*test)
                                                   : selftest_text(*test),
                .problem = {}};
  if (failed != 0) report.problem = std::to_string(failed) + " of the sources that this kernel has do not work";
  return report;
}

}  // namespace memstat::ctl
