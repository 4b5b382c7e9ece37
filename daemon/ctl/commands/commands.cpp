// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/commands.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "daemon/ctl/commands/completion.h"
#include "daemon/ctl/commands/counters_report.h"
#include "daemon/ctl/commands/cpu_report.h"
#include "daemon/ctl/commands/diff_report.h"
#include "daemon/ctl/commands/doctor_report.h"
#include "daemon/ctl/commands/explain_report.h"
#include "daemon/ctl/commands/leaks_report.h"
#include "daemon/ctl/commands/limits_report.h"
#include "daemon/ctl/commands/linux_reports.h"
#include "daemon/ctl/commands/malloc_report.h"
#include "daemon/ctl/commands/mbufs_report.h"
#include "daemon/ctl/commands/memuse_report.h"
#include "daemon/ctl/commands/objects_report.h"
#include "daemon/ctl/commands/origins_report.h"
#include "daemon/ctl/commands/record_report.h"
#include "daemon/ctl/commands/replay_report.h"
#include "daemon/ctl/commands/resident_report.h"
#include "daemon/ctl/commands/top_command.h"
#include "daemon/ctl/commands/types_report.h"
#include "daemon/ctl/commands/watch_report.h"
#include "daemon/ctl/commands/zones_report.h"
#include "daemon/ctl/output/cells.h"
#include "daemon/ctl/output/failure.h"
#include "daemon/ctl/output/progress.h"
#include "daemon/ctl/source/report_source.h"

namespace memstat::ctl {
namespace {

constexpr const char* kOriginalJson = "JSON with the keys and nesting of the original tool";
constexpr const char* kOwnJson = "JSON, values in bytes and whole numbers";

/// Whether the list reads what --from names.
bool has_capture(const CommandLine& options, memory_type_list* list) {
  return !options.from || memstat_mtl_set_capture(list, options.from->c_str()) == 0;
}
Report unreadable(memory_type_list* list) { return {.output = {}, .problem = failure_of(list, {})}; }

/// Why a command that shows FreeBSD kernels has no report, with what to do where the kernel is another.
Report refused(const CommandLine& options, memory_type_list* list) {
  return {.output = {},
          .problem = failure_of(
              list, "memstatctl " + std::string(options.command->name) +
                        " shows FreeBSD kernels only: give a capture of one with --from CAPTURE[@POLL]; memstatctl types "
                        "shows every kernel")};
}

void add_malloc(OptionAdder& add) {
  add.from();
  add.json(kOriginalJson);
  add.csv();
  add.format();
  add.human("Values as 2.3k: the default on a terminal, as in vmstat");
}
Report run_malloc(const CommandLine& options, memory_type_list* list) {
  if (!has_capture(options, list)) return unreadable(list);
  if (memstat_sysctl_malloc(list, 0) != 0) return refused(options, list);
  if (options.csv) return {.output = malloc_csv(list), .problem = {}};
  const bool is_human = options.human.value_or(::isatty(STDOUT_FILENO) == 1);
  return {.output = options.json ? malloc_json(list, options.format) : malloc_text(list, options.format, is_human),
          .problem = {}};
}

void add_mbufs(OptionAdder& add) {
  add.from();
  add.json(kOriginalJson);
  add.format();
}
void add_zones(OptionAdder& add) {
  add_mbufs(add);
  add.csv();
}
Report run_zones(const CommandLine& options, memory_type_list* list) {
  if (!has_capture(options, list)) return unreadable(list);
  if (memstat_sysctl_uma(list, 0) != 0) return refused(options, list);
  if (options.csv) return {.output = zones_csv(list), .problem = {}};
  return {.output = options.json ? zones_json(list, options.format) : zones_text(list, options.format), .problem = {}};
}

Report run_mbufs(const CommandLine& options, memory_type_list* list) {
  if (!has_capture(options, list)) return unreadable(list);
  if (memstat_sysctl_all(list, 0) != 0) return refused(options, list);
  return mbufs_report(list, options.json);
}

void add_types(OptionAdder& add) {
  add.from_anywhere();
  add.json(kOwnJson);
  add.csv();
  add.human("Bytes as 2.3M: the default");
}

Layout layout_of(const CommandLine& options) {
  return options.json ? Layout::kJson : options.csv ? Layout::kCsv : Layout::kText;
}

/// A report of types, as far as there are any.
template <typename Make>
Report report_of_types(const CommandLine& options, Make make) {
  const OpenedSource opened = open_source(options.from);
  if (opened.source == nullptr) return {.output = {}, .problem = opened.problem};
  const Sample sample = opened.source->read();
  return {.output = sample.is_failed() ? std::string() : make(sample.types),
          .problem = sample.problem,
          .notes = sample.notes,
          .missing = sample.missing};
}

Report run_types(const CommandLine& options, memory_type_list* /*list*/) {
  return report_of_types(options, [&](std::span<const TypeRow> types) {
    return options.json  ? types_json(types)
           : options.csv ? types_csv(types)
                         : types_text(types, options.human.value_or(true));
  });
}

Report run_limits(const CommandLine& options, memory_type_list* /*list*/) {
  return report_of_types(options, [&](std::span<const TypeRow> types) {
    return options.json  ? limits_json(types)
           : options.csv ? table_csv(limits_rows(types, false))
                         : table_text(limits_rows(types, options.human.value_or(true)), 2);
  });
}

void add_diff(OptionAdder& add) {
  add.from_anywhere();
  add.states();
  add.json(kOwnJson);
  add.csv();
  add.human("Bytes as 2.3M: the default");
}

/// The types of one of the two states. Half of them would look as if the rest had been freed: then there is a problem.
Sample sample_of(const std::string& state) {
  const OpenedSource opened = open_source(state);
  if (opened.source != nullptr) return opened.source->read();
  Sample sample;
  sample.problem = opened.problem;
  return sample;
}

Report run_diff(const CommandLine& options, memory_type_list* /*list*/) {
  const bool is_over_time = options.states.empty();
  const std::string from = options.from.value_or("live");
  const Sample before = sample_of(is_over_time ? from : options.states[0]);
  if (!before.problem.empty()) return {.output = {}, .problem = before.problem};
  if (is_over_time) wait_seconds(options.seconds.value_or(1), "waiting for the second state");
  const Sample after = sample_of(is_over_time ? from : options.states[1]);
  if (!after.problem.empty()) return {.output = {}, .problem = after.problem};
  return {.output = options.json  ? diff_json(before.types, after.types)
                    : options.csv ? table_csv(diff_rows(before.types, after.types, false))
                                  : table_text(diff_rows(before.types, after.types, options.human.value_or(true)), 2),
          .problem = {},
          .notes = {},
          .missing = after.missing};
}

constexpr std::int64_t kOneSecond = 1'000'000'000;

void add_watch(OptionAdder& add) {
  add.type();
  add.from_anywhere();
  add.interval("How long between two lines of a live kernel: 1s by default");
  add.count("Lines; without it until ^C, or to the end of the capture");
  add.json("JSON, an object a line of the report");
  add.csv();
  add.human("Bytes as 2.3M: the default");
}
Report run_watch(const CommandLine& options, memory_type_list* /*list*/) {
  const OpenedSource opened = open_source(options.from);
  if (opened.source == nullptr) return {.output = {}, .problem = opened.problem};
  const WatchOptions watched{.walk = {.first = first_poll_of(options.from),
                                      .interval_ns = options.interval_ns.value_or(kOneSecond),
                                      .count = options.count},
                             .type = options.type,
                             .is_json = options.json,
                             .is_compact = options.json_layout == kCompact,
                             .is_csv = options.csv,
                             .is_human = options.human.value_or(true)};
  return {.output = {}, .problem = watch(*opened.source, watched)};
}

void add_cpu(OptionAdder& add) {
  add.type();
  add.from_anywhere();
  add.json(kOwnJson);
  add.csv();
  add.human("Bytes as 2.3M: the default");
}
Report run_cpu(const CommandLine& options, memory_type_list* /*list*/) {
  const OpenedSource opened = open_source(options.from);
  if (opened.source == nullptr) return {.output = {}, .problem = opened.problem};
  return cpu_report(*opened.source, options.type, layout_of(options), options.human.value_or(true));
}

void add_leaks(OptionAdder& add) {
  add.from_anywhere();
  add.seconds("How long a live kernel is watched: 60 by default");
  add.interval("How long between two reads of a live kernel: a thirtieth of that, 100ms at least");
  add.json("JSON, whole numbers and rates");
  add.csv();
  add.human("Bytes as 2.3M and times as 2h 10m: the default");
}
Report run_leaks(const CommandLine& options, memory_type_list* /*list*/) {
  const OpenedSource opened = open_source(options.from);
  if (opened.source == nullptr) return {.output = {}, .problem = opened.problem};
  LeakOptions leaks{.walk = {.first = first_poll_of(options.from), .interval_ns = 0, .count = {}},
                    .is_json = options.json,
                    .is_csv = options.csv,
                    .is_human = options.human.value_or(true)};
  if (opened.source->poll_count() == 0) {
    const std::int64_t window_ns = options.seconds.value_or(60) * kOneSecond;
    leaks.walk.interval_ns = options.interval_ns.value_or(std::max(window_ns / 30, kOneSecond / 10));
    leaks.walk.count = static_cast<std::uint64_t>(window_ns / leaks.walk.interval_ns + 1);
  }
  return leaks_report(*opened.source, leaks);
}

void add_memuse(OptionAdder& add) {
  add.seconds("How long to watch: 60 by default; ^C ends it before");
  add.memuse();
  add.json("JSON, every group, whole numbers");
  add.human("Bytes as 2.3M: the default");
}
Report run_memuse(const CommandLine& options, memory_type_list* /*list*/) { return memuse_report(options); }

void add_origins(OptionAdder& add) {
  add.maybe_type();
  add.from_anywhere();
  add.seconds(
      "What comes within that time: 10 by default of a live kernel;\nwithout it of a memstatd since it attached to the "
      "events");
  add.limit("Lines, those with most bytes first: 100 by default");
  add.json("JSON, whole numbers");
  add.csv();
  add.human("Bytes as 2.3M: the default");
}
Report run_origins(const CommandLine& options, memory_type_list* /*list*/) { return origins_report(options); }

void add_objects(OptionAdder& add) {
  add.type();
  add.from_dump();
  add.limit("Objects that are listed, at most: 100 by default");
  add.json("JSON, an object of the kernel an object; ages in seconds");
  add.csv();
}
Report run_objects(const CommandLine& options, memory_type_list* /*list*/) {
  return objects_report({.dump = options.dump, .type = options.type, .limit = options.limit}, layout_of(options));
}

void add_record(OptionAdder& add) {
  add.recording();
  add.interval("How long between two polls: 10s by default");
  add.count("Polls; without it until ^C");
  add.json("JSON: where to, and how many polls");
  add.csv();
}
Report run_record(const CommandLine& options, memory_type_list* list) {
  return record(list, {.output = options.output,
                       .interval_ns = options.interval_ns.value_or(10 * kOneSecond),
                       .count = options.count,
                       .max_bytes = options.max_bytes,
                       .label = options.label,
                       .layout = layout_of(options)});
}

void add_replay(OptionAdder& add) {
  add.replaying();
  add.json("JSON, an object a poll; with --list one of all");
  add.csv();
  add.human("Bytes as 2.3M: the default");
}
Report run_replay(const CommandLine& options, memory_type_list* list) {
  return replay(list, {.capture = options.capture,
                       .speed = options.speed,
                       .is_list = options.is_list,
                       .is_json = options.json,
                       .is_compact = options.json_layout == kCompact,
                       .is_csv = options.csv,
                       .is_human = options.human.value_or(true)});
}

void add_top(OptionAdder& add) {
  add.from_anywhere();
  add.interval("How long between two samples: 1s by default");
  add.count("Print that many samples, as lines, instead of a full screen");
}
Report run_top_command(const CommandLine& options, memory_type_list* /*list*/) {
  return run_top(options, first_poll_of(options.from));
}

void add_process(OptionAdder& add) {
  add.pids();
  add.from();
  add.json(kOwnJson);
  add.csv();
}
Report run_process(const CommandLine& options, memory_type_list* list) {
  if (!has_capture(options, list)) return unreadable(list);
  return process_report(list, options.pids, layout_of(options));
}

void add_node(OptionAdder& add) {
  add.addresses();
  add.from();
  add.json(kOwnJson);
  add.csv();
}
Report run_node(const CommandLine& options, memory_type_list* list) {
  if (!has_capture(options, list)) return unreadable(list);
  return node_report(list, options.addresses, layout_of(options));
}

void add_resident(OptionAdder& add) {
  add.paths();
  add.json(kOwnJson);
  add.csv();
}
Report run_resident(const CommandLine& options, memory_type_list* /*list*/) {
  return resident_report(options.paths, layout_of(options));
}

void add_counters(OptionAdder& add) {
  add.counters();
  add.json("JSON, whole numbers; rates as text");
  add.csv();
}
Report run_counters(const CommandLine& options, memory_type_list* /*list*/) {
#if defined(MEMSTAT_HAVE_COUNTERS)
  return counters_report(options.counters, layout_of(options));
#else
  static_cast<void>(options);
  return {.output = {}, .problem = "built without libcpc, which counts events"};
#endif
}

void add_doctor(OptionAdder& add) {
  add.from_daemon();
  add.json("JSON, a source an object");
  add.csv();
}
Report run_doctor(const CommandLine& options, memory_type_list* /*list*/) {
  return doctor_report(layout_of(options), options.from);
}

void add_explain(OptionAdder& add) {
  add.word();
  add.json("JSON, all that the word names");
  add.csv();
}
Report run_explain(const CommandLine& options, memory_type_list* /*list*/) {
  return explain_report(options.word, layout_of(options));
}

void add_completion(OptionAdder& add) { add.shell(); }
Report run_completion(const CommandLine& options, memory_type_list* /*list*/) {
  return {.output = completion_script(options.shell), .problem = {}};
}

constexpr std::array kCommands{
    Command{"malloc", "The malloc(9) types of a FreeBSD kernel, as vmstat -m prints them", add_malloc, run_malloc},
    Command{"zones", "The uma(9) zones of a FreeBSD kernel, as vmstat -z prints them", add_zones, run_zones},
    Command{"mbufs", "The network buffers of a FreeBSD kernel, as netstat -m prints them", add_mbufs, run_mbufs},
    Command{"types", "Every memory type of any kernel, the largest first", add_types, run_types},
    Command{"limits", "What failed and what is near its limit, nearest first", add_types, run_limits},
    Command{"top", "Every memory type, again and again, on a full screen", add_top, run_top_command},
    Command{"diff", "Who grew between two captures, two polls, or now and later", add_diff, run_diff},
    Command{"watch", "One type, a line each time: what it has, its growth and its failures", add_watch, run_watch},
    Command{"leaks", "Which types grow steadily, how fast, how surely, and until when", add_leaks, run_leaks},
    Command{"memuse", "Who allocated what Linux has in use, by call stack, and what of it looks like a leak", add_memuse,
            run_memuse},
    Command{"origins", "Who makes Linux's slab caches grow: control group, program and function", add_origins, run_origins},
    Command{"cpu", "The values of one type, CPU by CPU and node by node", add_cpu, run_cpu},
    Command{"objects", "The allocated objects of one type in a crash dump, one by one", add_objects, run_objects},
    Command{"record", "Records this machine's kernel as a capture, poll by poll", add_record, run_record},
    Command{"replay", "The polls of a capture one after the other, or a list of them", add_replay, run_replay},
    Command{"process", "How much memory the processes of a Linux kernel use", add_process, run_process},
    Command{"node", "Which NUMA node of a Linux machine holds a physical address", add_node, run_node},
    Command{"resident", "How much of each file is in this machine's memory", add_resident, run_resident},
    Command{"counters", "Events of a CPU, a process or a command, counted by CPU and kernel", add_counters, run_counters},
    Command{"explain", "What a metric, type, alert or value is, where it is counted, what to do when it grows", add_explain,
            run_explain},
    Command{"doctor", "What works of this machine's sources, what is absent, which permission is missing", add_doctor,
            run_doctor},
    Command{"completion", "The script that completes memstatctl's command line in bash, zsh or fish", add_completion,
            run_completion},
};

}  // namespace

std::span<const Command> commands() { return kCommands; }

const Command* find_command(std::string_view name) {
  for (const Command& command : kCommands) {
    if (name == command.name) return &command;
  }
  return nullptr;
}

std::string command_names(std::string_view last_separator) {
  std::string names;
  for (const Command& command : kCommands) {
    if (!names.empty()) names += &command == &kCommands.back() ? last_separator : std::string_view(", ");
    names += command.name;
  }
  return names;
}

}  // namespace memstat::ctl
