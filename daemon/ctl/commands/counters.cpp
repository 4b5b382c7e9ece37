// SPDX-License-Identifier: BSD-2-Clause
// Events of a CPU, a process or a command, counted by CPU and kernel.

#include "daemon/ctl/commands/commands.h"

#if defined(MEMSTAT_HAVE_COUNTERS)

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "core/include/libcpc.h"
#include "daemon/ctl/output/cells.h"
#include "daemon/ctl/output/json_writer.h"
#include "daemon/ctl/output/progress.h"
#include "daemon/ctl/output/report_table.h"

namespace memstat::ctl {
namespace {

constexpr std::uint64_t kNanoseconds = 1'000'000'000;
constexpr std::size_t kWidth = 16;  // of a column

// The handlers of the library have no argument of ours.
std::string& last_problem() {
  thread_local std::string text;
  return text;
}
void keep_text(const char* format, va_list arguments) {
  std::array<char, 1024> text{};
  std::vsnprintf(text.data(), text.size(), format, arguments);
  last_problem() = printable_bytes(text.data());
}
void keep_problem(const char* /*function*/, int /*subcode*/, const char* format, va_list arguments) {
  keep_text(format, arguments);
}
void keep_process_problem(const char* /*function*/, const char* format, va_list arguments) { keep_text(format, arguments); }

using Handle = std::unique_ptr<cpc_t, decltype(&cpc_close)>;
using Process = std::unique_ptr<pctx_t, decltype(&pctx_release)>;

struct Row {
  std::string event;
  std::uint64_t count = 0;
  std::uint64_t enabled = 0;  // ns
  std::uint64_t running = 0;  // ns
};

void add_name(void* names, const char* name) { static_cast<std::vector<std::string>*>(names)->emplace_back(name); }

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  bool is_inside = false;  // of a PMU's terms, which have commas of their own
  for (const char c : text) {
    if (c == '/') is_inside = !is_inside;
    if (c == ',' && !is_inside) {
      words.push_back(std::exchange(word, {}));
    } else {
      word += c;
    }
  }
  words.push_back(word);
  return words;
}

/// What is counted unless events are named: what memory costs.
std::vector<std::string> default_events(cpc_t* cpc) {
  std::vector<std::string> known;
  cpc_walk_events_all(cpc, &known, add_name);
  std::vector<std::string> events;
  for (const char* name : {"task-clock", "minor-faults", "major-faults", "context-switches", "cpu-migrations", "cpu-cycles",
                           "instructions", "LLC-load-misses", "dTLB-load-misses"}) {
    if (std::find(known.begin(), known.end(), name) != known.end()) events.emplace_back(name);
  }
  return events;
}

/// The number as a decimal with one digit behind the point.
std::string tenths(std::uint64_t whole, std::uint64_t tenth) { return std::to_string(whole) + "." + std::to_string(tenth); }

std::string rate_text(std::uint64_t count, std::uint64_t elapsed) {
  if (elapsed == 0) return "-";
  const double rate = static_cast<double>(count) * static_cast<double>(kNanoseconds) / static_cast<double>(elapsed);
  constexpr double kMax = 1e17;
  if (rate > kMax) return "-";
  const auto in_tenths = static_cast<std::uint64_t>(std::llround(rate * 10));
  return tenths(in_tenths / 10, in_tenths % 10);
}

std::string table(const std::vector<Row>& rows, std::uint64_t elapsed) {
  std::string text = to_right("COUNT", kWidth) + to_right("PER SECOND", kWidth) + to_right("COUNTED", 9) + "  EVENT\n";
  for (const Row& row : rows) {
    const bool is_none = row.running == 0 && row.enabled != 0;
    const bool is_scaled = row.running < row.enabled;
    const std::uint64_t percent = row.enabled == 0 ? 100 : row.running * 100 / row.enabled;
    text += to_right(is_none ? "-" : std::to_string(row.count), kWidth) +
            to_right(is_none ? "-" : rate_text(row.count, elapsed), kWidth) + to_right(std::to_string(percent) + "%", 9) +
            "  " + row.event +
            (is_none     ? " (not counted: others have the counters)"
             : is_scaled ? " (scaled)"
                         : "") +
            "\n";
  }
  return text;
}

std::string json_of(const std::vector<Row>& rows, std::uint64_t elapsed) {
  JsonWriter json("1");
  json.field("elapsed_ns", elapsed);
  json.open_list("events");
  for (const Row& row : rows) {
    json.open_object({});
    json.field("event", row.event);
    json.field("count", row.count);
    json.field("per_second", rate_text(row.count, elapsed));
    json.field("enabled_ns", row.enabled);
    json.field("running_ns", row.running);
    json.field("scaled", std::uint64_t{row.running < row.enabled});
    json.close();
  }
  return json.finish();
}

constexpr std::array<ReportColumn, 5> kCountColumns{{{.key = "event", .title = ""},
                                                     {.key = "count", .title = "", .unit = Unit::kNumber},
                                                     {.key = "per_second", .title = ""},
                                                     {.key = "enabled_ns", .title = "", .unit = Unit::kNumber},
                                                     {.key = "running_ns", .title = "", .unit = Unit::kNumber}}};
constexpr std::array<ReportColumn, 3> kEventColumns{
    {{.key = "event", .title = ""}, {.key = "counter", .title = ""}, {.key = "description", .title = ""}}};

std::string csv_of(const std::vector<Row>& rows, std::uint64_t elapsed) {
  ReportTable table("events", kCountColumns);
  for (const Row& row : rows) {
    const bool is_none = row.running == 0 && row.enabled != 0;
    table.add({row.event, is_none ? Cell() : Cell(row.count), is_none ? Cell() : Cell(rate_text(row.count, elapsed)),
               row.enabled, row.running});
  }
  return table.print({.layout = Layout::kCsv});
}

Report list_report(cpc_t* cpc, const ReportView& view) {
  const Layout layout = view.layout;
  std::vector<std::string> events;
  std::vector<std::string> attributes;
  cpc_walk_events_all(cpc, &events, add_name);
  cpc_walk_attrs(cpc, &attributes, add_name);
  const uint_t counters = cpc_npic(cpc);
  const auto counter_of = [&](const std::string& event) {
    if (cpc_event_needs_pic(cpc, event.c_str()) != 1) return std::string("kernel");
    return counters == 1 ? std::string("0") : "0-" + std::to_string(counters - 1);
  };
  Report report;
  if (layout == Layout::kCsv) {
    ReportTable rows("events", kEventColumns);
    for (const std::string& event : events) {
      rows.add({printable_bytes(event), counter_of(event), printable_bytes(cpc_event_description(cpc, event.c_str()))});
    }
    report.output = rows.print({.layout = Layout::kCsv});
    return report;
  }
  if (layout == Layout::kJson) {
    JsonWriter json("1");
    json.field("what", cpc_cciname(cpc));
    json.field("counters", std::uint64_t{counters});
    json.open_list("events");
    for (const std::string& event : events) {
      json.open_object({});
      json.field("event", printable_bytes(event));
      json.field("counter", counter_of(event));
      json.field("description", printable_bytes(cpc_event_description(cpc, event.c_str())));
      json.close();
    }
    json.close();
    json.open_list("attributes");
    for (const std::string& attribute : attributes) {
      json.open_object({});
      json.field("attribute", printable_bytes(attribute));
      json.close();
    }
    report.output = laid_out(json.finish(), view);
    return report;
  }
  std::size_t width = 0;
  for (const std::string& event : events) width = std::max(width, event.size());
  report.output = std::string(cpc_cciname(cpc)) + "\n\n" + to_left("EVENT", width) + "  COUNTER  DESCRIPTION\n";
  for (const std::string& event : events) {
    report.output += to_left(printable_bytes(event), width) + "  " + to_left(counter_of(event), 7) + "  " +
                     printable_bytes(cpc_event_description(cpc, event.c_str())) + "\n";
  }
  report.output += "\nAlso: group:name (a tracepoint), rHEX (a raw code), pmu/term=value,.../\nAttributes:";
  for (const std::string& attribute : attributes) report.output += " " + printable_bytes(attribute);
  report.output += "\n";
  return report;
}

Report failed(std::string text) { return {.output = {}, .problem = std::move(text)}; }

/// Lets the command run to its end, or for the seconds asked for. "" or why it could not be run.
std::string run_command(pctx_t* process, const CommandLine& options) {
  constexpr std::int64_t kMillisecond = 1'000'000;
  const auto stop = [](pctx_t*, pid_t, id_t, void*) { return 1; };
  const int result = options.window_ns ? pctx_run(process, static_cast<uint_t>(*options.window_ns / kMillisecond), 1, stop)
                                       : pctx_run(process, 0, 0, nullptr);
  return result == 0 ? std::string() : options.counters.command.front() + ": " + last_problem();
}

void add_counters(OptionAdder& add) {
  add.counters();
  add.json();
  add.csv();
}

Report run_counters(const CommandLine& options) {
  const CounterOptions& wanted = options.counters;
  const Layout layout = options.view.layout;
  const Handle cpc(cpc_open(CPC_VER_CURRENT), cpc_close);
  if (!cpc) return failed(std::string("no event can be counted here: ") + cpc_open_message());
  cpc_seterrhndlr(cpc.get(), keep_problem);
  if (wanted.is_list) return list_report(cpc.get(), options.view);

  const std::vector<std::string> events = wanted.events.empty() ? default_events(cpc.get()) : split(wanted.events);
  const uint_t flags = CPC_COUNT_USER | (wanted.is_user_only ? 0U : CPC_COUNT_SYSTEM);
  cpc_set_t* const set = cpc_set_create(cpc.get());
  for (const std::string& event : events) {
    if (cpc_set_add_request(cpc.get(), set, event.c_str(), 0, flags, 0, nullptr) < 0) return failed(last_problem());
  }
  cpc_buf_t* const before = cpc_buf_create(cpc.get(), set);
  cpc_buf_t* const after = cpc_buf_create(cpc.get(), set);
  if (before == nullptr || after == nullptr) return failed(last_problem());

  Process process(nullptr, pctx_release);
  if (!wanted.command.empty()) {
    std::vector<char*> arguments;
    for (const std::string& word : wanted.command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    process.reset(pctx_create(arguments.front(), arguments.data(), nullptr, 0, keep_process_problem));
  } else if (wanted.pid) {
    process.reset(pctx_capture(*wanted.pid, nullptr, 0, keep_process_problem));
  }
  if (!wanted.cpu && !process) return failed(last_problem());
  const int bound = wanted.cpu ? cpc_bind_cpu(cpc.get(), *wanted.cpu, set, 0)
                               : cpc_bind_pctx(cpc.get(), process.get(), CPC_ALL_LWPS, set, 0);
  if (bound != 0 || cpc_set_sample(cpc.get(), set, before) != 0) return failed(last_problem());

  std::string problem;
  if (!wanted.command.empty()) {
    problem = run_command(process.get(), options);
  } else {
    wait_ns(options.window_ns.value_or(kOneSecond), "counting");
  }
  if (!problem.empty() || cpc_set_sample(cpc.get(), set, after) != 0)
    return failed(problem.empty() ? last_problem() : problem);
  const auto elapsed = static_cast<std::uint64_t>(cpc_buf_hrtime(cpc.get(), after) - cpc_buf_hrtime(cpc.get(), before));
  cpc_buf_sub(cpc.get(), after, after, before);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < events.size(); ++i) {
    Row row{.event = printable_bytes(events[i])};
    cpc_buf_get(cpc.get(), after, static_cast<int>(i), &row.count);
    cpc_buf_times(cpc.get(), after, static_cast<int>(i), &row.enabled, &row.running);
    rows.push_back(std::move(row));
  }
  return {.output = layout == Layout::kJson  ? laid_out(json_of(rows, elapsed), options.view)
                    : layout == Layout::kCsv ? csv_of(rows, elapsed)
                                             : table(rows, elapsed),
          .problem = {}};
}

}  // namespace

}  // namespace memstat::ctl

#else

namespace memstat::ctl {
namespace {

void add_counters(OptionAdder& add) {
  add.counters();
  add.json();
  add.csv();
}
Report run_counters(const CommandLine& /*options*/) {
  return {.output = {}, .problem = "built without libcpc, which counts events"};
}

}  // namespace
}  // namespace memstat::ctl

#endif

namespace memstat::ctl {

const Command kCountersCommand{"counters",
                               Group::kMachine,
                               "Events of a CPU, a process or a command, counted by CPU and kernel",
                               "memstatctl counters --list\n"
                               "memstatctl counters --cpu 0 --for 5s\n"
                               "memstatctl counters --events minor-faults,major-faults -- make -j4",
                               add_counters,
                               run_counters};

}  // namespace memstat::ctl
