// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/record_report.h"

#include "core/base/clock.h"
#include "daemon/ctl/commands/stop_signals.h"
#include "daemon/ctl/output/cells.h"
#include "daemon/ctl/output/failure.h"
#include "daemon/ctl/output/json_writer.h"
#include "daemon/ctl/output/progress.h"

namespace memstat::ctl {

Report record(memory_type_list* list, const RecordOptions& options) {
  StopSignals signals;
  if (memstat_record_begin(list, options.output.c_str(), options.max_bytes) != 0) {
    return {.output = {}, .problem = failure_of(list, {})};
  }
  Progress progress;
  std::uint64_t polls = 0;
  std::string problem;
  std::int64_t due_ns = system_clock().monotonic_ns();
  while (problem.empty() && (!options.count || polls < *options.count) && signals.wait_until(due_ns)) {
    if (memstat_record_poll(list, options.label.empty() ? nullptr : options.label.c_str()) != 0) {
      problem = failure_of(list, {});
      break;
    }
    ++polls;
    progress.show("recorded " + std::to_string(polls) + (options.count ? " of " + std::to_string(*options.count) : "") +
                  " polls");
    due_ns += options.interval_ns;
  }
  progress.finish();
  if (memstat_record_end(list) != 0 && problem.empty()) problem = failure_of(list, {});
  if (polls == 0) return {.output = {}, .problem = problem.empty() ? "stopped before the first poll" : problem};
  if (options.layout == Layout::kCsv) {
    return {.output = table_csv({{"OUTPUT", "POLLS"}, {printable_bytes(options.output), std::to_string(polls)}}),
            .problem = problem};
  }
  if (options.layout == Layout::kJson) {
    JsonWriter json("1");
    json.field("output", printable_bytes(options.output)).field("polls", polls);
    return {.output = json.finish(), .problem = problem};
  }
  return {.output = "recorded " + std::to_string(polls) + (polls == 1 ? " poll" : " polls") + " to " +
                    printable_bytes(options.output) + "\n",
          .problem = problem};
}

}  // namespace memstat::ctl
