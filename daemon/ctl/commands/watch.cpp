// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/reports.h"

#include <array>

#include "daemon/ctl/commands/named_type.h"
#include "daemon/ctl/commands/shared_options.h"

namespace memstat::ctl {
namespace {

constexpr std::array<ReportColumn, 7> watch_columns(std::string_view change, std::string_view pace, Unit unit) {
  return {{{.key = "time", .title = "UTC TIME", .unit = Unit::kTime, .width = 8},
           {.key = "type", .title = ""},
           {.key = "bytes", .title = "BYTES", .unit = Unit::kBytes, .width = 12},
           {.key = "objects", .title = "OBJECTS", .unit = Unit::kNumber, .width = 12},
           {.key = change, .title = "CHANGE", .unit = unit, .has_sign = true, .width = 12},
           {.key = pace, .title = "PER SECOND", .unit = unit, .has_sign = true, .width = 12},
           {.key = "failures", .title = "FAILURES", .unit = Unit::kNumber, .width = 10}}};
}
constexpr auto kColumnsOfBytes = watch_columns("change_bytes", "change_bytes_per_second", Unit::kBytes);
constexpr auto kColumnsOfObjects = watch_columns("change_objects", "change_objects_per_second", Unit::kNumber);

constexpr auto kWatchOptions =
    joined(std::array{kTypeOption, kKernelOption, kFromServerOption, kVerboseOption,
                      interval_option("Time between two lines for a live kernel: 1s by default"),
                      count_option("Number of lines; by default until ^C, or to the end of the capture"), kHumanOption,
                      kNoHumanOption, kCsvOption, kJsonOption},
           kServerOptions);

Report run_watch(const CommandLine& options) {
  const OpenedSource opened = open_source(options.from, options.server);
  if (opened.source == nullptr) return {.problem = opened.problem};
  return watch(*opened.source, {.walk = {.first = first_poll_of(options.from),
                                         .interval_ns = options.interval_ns.value_or(kOneSecond),
                                         .count = options.count},
                                .type = options.type,
                                .view = options.view});
}

}  // namespace

ReportTable watch_table(bool is_bytes) { return {"states", is_bytes ? kColumnsOfBytes : kColumnsOfObjects, 1}; }

void add_state(ReportTable& table, const std::string& type, const WatchedState& state,
               const std::optional<WatchedState>& before, bool is_bytes) {
  Cell change;
  Cell pace;
  const auto amount = [is_bytes](const WatchedState& of) { return is_bytes ? of.bytes : of.objects; };
  if (before && amount(*before) && amount(state)) {
    const auto more = static_cast<std::int64_t>(*amount(state) - *amount(*before));
    change = more;
    if (state.seconds > before->seconds) pace = static_cast<double>(more) / (state.seconds - before->seconds);
  }
  table.add({state.time_ns, type, cell_of(state.bytes), cell_of(state.objects), change, pace, cell_of(state.failures)});
}

Report watch(ReportSource& source, const WatchOptions& options) {
  PollWalk walk(source, options.walk);
  std::optional<WatchedState> before;
  std::optional<ReportTable> table;
  std::string name;
  bool is_bytes = true;
  Report report;
  while (walk.next()) {
    report = report_on(walk.sample());
    const NamedType named = find_named_type(walk.sample().types, options.type);
    if (named.types.empty() && !table) {
      report_unknown_type(report, named);
      return report;
    }
    // A vanished type has no figures, but may return.
    const WatchedState state{.seconds = walk.seconds(),
                             .time_ns = walk.sample().time_ns,
                             .bytes = sum_of(named.types, kBytesInUse),
                             .objects = sum_of(named.types, kObjectsInUse),
                             .failures = sum_of(named.types, kFailures)};
    if (!table) {
      name = full_name(*named.types.front());
      is_bytes = state.bytes.has_value();
      table = watch_table(is_bytes);
      if (report.status = print(table->header(options.view)); report.status != kExitDone) return report;
    }
    add_state(*table, name, state, before, is_bytes);
    if (report.status = print(table->last_row(options.view)); report.status != kExitDone) return report;
    before = state;
  }
  report.problem = walk.problem();
  return report;
}

const Command kWatchCommand{"watch",
                            Group::kGrowth,
                            "One type, a line per interval: size, growth and failures",
                            "memstatctl watch dentry --interval 2s --count 10\n"
                            "memstatctl watch slab/dentry --csv --from bug.tar.zst",
                            kWatchOptions,
                            run_watch};

}  // namespace memstat::ctl
