// SPDX-License-Identifier: BSD-2-Clause
// Events of a CPU, a process or a command, counted by CPU and kernel.
#include <array>

#include "daemon/ctl/commands/shared_options.h"

#if defined(MEMSTAT_HAVE_COUNTERS)

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <memory>
#include <utility>

#include "core/include/libcpc.h"
#include "daemon/ctl/output/progress.h"

namespace memstat::ctl {
namespace {

constexpr std::uint64_t kNanoseconds = 1'000'000'000;

// The library's callbacks have no user argument.
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
  bool is_inside = false;  // inside a PMU's terms, which contain commas
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

/// The default events: those that show the cost of memory.
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

/// The rate per second; empty for impossible values.
std::optional<double> rate_of(std::uint64_t count, std::uint64_t elapsed) {
  constexpr double kMax = 1e17;
  if (elapsed == 0) return std::nullopt;
  const double rate = static_cast<double>(count) * static_cast<double>(kNanoseconds) / static_cast<double>(elapsed);
  return rate > kMax ? std::nullopt : std::optional(rate);
}

constexpr std::array<ReportColumn, 8> kCountColumns{{{.key = "count", .title = "COUNT", .unit = Unit::kNumber},
                                                     {.key = "per_second", .title = "PER SECOND", .unit = Unit::kNumber},
                                                     {.key = "counted_ratio", .title = "COUNTED", .unit = Unit::kRatio},
                                                     {.key = "event", .title = "EVENT"},
                                                     {.key = "", .title = " "},
                                                     {.key = "enabled_ns", .title = "", .unit = Unit::kNumber},
                                                     {.key = "running_ns", .title = "", .unit = Unit::kNumber},
                                                     {.key = "scaled", .title = ""}}};
constexpr std::array<ReportColumn, 3> kEventColumns{{{.key = "event", .title = "EVENT"},
                                                     {.key = "counter", .title = "COUNTER"},
                                                     {.key = "description", .title = "DESCRIPTION"}}};

ReportTable count_table(const std::vector<Row>& rows, std::uint64_t elapsed) {
  ReportTable table("events", kCountColumns);
  table.add_head("elapsed_ns", elapsed);
  for (const Row& row : rows) {
    const bool is_none = row.running == 0 && row.enabled != 0;
    const bool is_scaled = row.running < row.enabled;
    const double part = row.enabled == 0 ? 1 : static_cast<double>(row.running) / static_cast<double>(row.enabled);
    const std::string note = is_none ? "not counted: the counters are in use by others" : is_scaled ? "scaled" : "";
    table.add({is_none ? Cell() : row.count, is_none ? Cell() : cell_of(rate_of(row.count, elapsed)), part, row.event, note,
               row.enabled, row.running, is_scaled});
  }
  return table;
}

Report list_report(cpc_t* cpc, const ReportView& view) {
  std::vector<std::string> events;
  std::vector<std::string> names;
  cpc_walk_events_all(cpc, &events, add_name);
  cpc_walk_attrs(cpc, &names, add_name);
  const std::string attributes = separated(names, " ", printable_bytes);
  const uint_t counters = cpc_npic(cpc);
  ReportTable table("events", kEventColumns);
  table.add_head("what", cpc_cciname(cpc));
  table.add_head("counters", std::uint64_t{counters});
  table.add_head("attributes", attributes);
  for (const std::string& event : events) {
    const bool is_of_kernel = cpc_event_needs_pic(cpc, event.c_str()) != 1;
    const std::string counter = is_of_kernel ? "kernel" : counters == 1 ? "0" : "0-" + std::to_string(counters - 1);
    table.add({printable_bytes(event), counter, printable_bytes(cpc_event_description(cpc, event.c_str()))});
  }
  Report report{.output = table.print(view)};
  if (view.layout == Layout::kText) {
    report.output = std::string(cpc_cciname(cpc)) + "\n\n" + report.output +
                    "\nAlso: group:name (a tracepoint), rHEX (a raw code), pmu/term=value,.../\nAttributes: " + attributes +
                    "\n";
  }
  return report;
}

Report failed(std::string text) { return {.problem = std::move(text)}; }

/// The exit status of the command, as a shell reports it; kExitDone if it still runs. The process stays a zombie.
int status_of_command() {
  constexpr int kSignalled = 128;
  siginfo_t ended{};
  if (::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == 0) return kExitDone;
  return ended.si_code == CLD_EXITED ? ended.si_status : kSignalled + ended.si_status;
}

/// Runs the command to its end, or for the requested time. Returns "" or an error.
std::string run_command(pctx_t* process, const CommandLine& options) {
  constexpr std::int64_t kMillisecond = 1'000'000;
  const auto stop = [](pctx_t*, pid_t, id_t, void*) { return 1; };
  const int result = options.window_ns ? pctx_run(process, static_cast<uint_t>(*options.window_ns / kMillisecond), 1, stop)
                                       : pctx_run(process, 0, 0, nullptr);
  return result == 0 ? std::string() : options.counters.command.front() + ": " + last_problem();
}

Report run_counters(const CommandLine& options) {
  const CounterOptions& wanted = options.counters;
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
  return {.output = count_table(rows, elapsed).print(options.view),
          .status = wanted.command.empty() ? kExitDone : status_of_command()};
}

}  // namespace

}  // namespace memstat::ctl

#else

namespace memstat::ctl {
namespace {

Report run_counters(const CommandLine& /*options*/) { return {.problem = "built without libcpc, which counts events"}; }

}  // namespace
}  // namespace memstat::ctl

#endif

namespace memstat::ctl {
namespace {

std::string check_cpu(const std::string& text) {
  const auto number = parse_number(text);
  return number && *number <= 1U << 20U ? std::string() : "\"" + text + "\" is not the number of a CPU";
}

constexpr std::array kCountersOptions{
    flag("--list", "The events that can be counted here", store<&CommandLine::counters, &CounterOptions::is_list>),
    valued("--cpu", "N", "Everything that runs on this CPU", store<&CommandLine::counters, &CounterOptions::cpu>, check_cpu),
    valued("--pid", "PID", "This process, with all its threads, including new ones",
           store<&CommandLine::counters, &CounterOptions::pid>, check_pid, "--cpu,--list"),
    valued("--events", "E,...", "Separated by commas; by default those that show the cost of memory",
           store<&CommandLine::counters, &CounterOptions::events>),
    window_option("How long to count: 1s by default, or until COMMAND ends"),
    flag("--user-only", "Only in user mode: needs no privilege if perf_event_paranoid is 2",
         store<&CommandLine::counters, &CounterOptions::is_user_only>),
    argument("COMMAND", {0, Option::kAny}, "A program and its arguments, after --",
             store<&CommandLine::counters, &CounterOptions::command>, nullptr, "--cpu,--pid,--list"),
    kJsonOption,
    kCsvOption};

}  // namespace

const Command kCountersCommand{"counters",
                               Group::kMachine,
                               "Counts CPU and kernel events of a CPU, a process or a command",
                               "memstatctl counters --list\n"
                               "memstatctl counters --cpu 0 --for 5s\n"
                               "memstatctl counters --events minor-faults,major-faults -- make -j4",
                               kCountersOptions,
                               run_counters};

}  // namespace memstat::ctl
