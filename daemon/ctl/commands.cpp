// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands.h"

#include <unistd.h>

#include <array>
#include <memory>
#include <new>

#include "daemon/ctl/cells.h"
#include "daemon/ctl/completion.h"
#include "daemon/ctl/counters_report.h"
#include "daemon/ctl/diff_report.h"
#include "daemon/ctl/failure.h"
#include "daemon/ctl/limits_report.h"
#include "daemon/ctl/linux_reports.h"
#include "daemon/ctl/malloc_report.h"
#include "daemon/ctl/mbufs_report.h"
#include "daemon/ctl/resident_report.h"
#include "daemon/ctl/types_report.h"
#include "daemon/ctl/zones_report.h"

namespace memstat::ctl {
namespace {

constexpr const char* kOriginalJson = "JSON with the keys and nesting of the original tool";
constexpr const char* kOwnJson = "JSON, values in bytes and whole numbers";

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
  add.format();
  add.human("Values as 2.3k: the default on a terminal, as in vmstat");
}
Report run_malloc(const CommandLine& options, memory_type_list* list) {
  if (memstat_sysctl_malloc(list, 0) != 0) return refused(options, list);
  const bool is_human = options.human.value_or(::isatty(STDOUT_FILENO) == 1);
  return {.output = options.json ? malloc_json(list, options.format) : malloc_text(list, options.format, is_human),
          .problem = {}};
}

void add_zones(OptionAdder& add) {
  add.from();
  add.json(kOriginalJson);
  add.format();
}
Report run_zones(const CommandLine& options, memory_type_list* list) {
  if (memstat_sysctl_uma(list, 0) != 0) return refused(options, list);
  return {.output = options.json ? zones_json(list, options.format) : zones_text(list, options.format), .problem = {}};
}

Report run_mbufs(const CommandLine& options, memory_type_list* list) {
  if (memstat_sysctl_all(list, 0) != 0) return refused(options, list);
  return mbufs_report(list, options.json);
}

void add_types(OptionAdder& add) {
  add.from();
  add.json(kOwnJson);
  add.csv();
  add.human("Bytes as 2.3M: the default");
}

/// What the types of FreeBSD's or Linux's kernel are, whichever is there. Some may be missing: then `problem` says why.
Report query_types(memory_type_list* list) {
  Report report;
  const bool has_malloc = memstat_sysctl_malloc(list, 0) == 0;
  if (!has_malloc && memstat_mtl_geterror(list) == MEMSTAT_ERROR_NOTPRESENT) {
    // Only a Linux kernel is left to ask; where there is none either, its message is as good as the first.
    if (memstat_linux_all(list, 0) != 0) report.problem = failure_of(list, {});
    return report;
  }
  if (!has_malloc) report.problem = failure_of(list, {});
  if (memstat_sysctl_uma(list, 0) != 0 && report.problem.empty()) report.problem = failure_of(list, {});
  return report;
}

Report run_types(const CommandLine& options, memory_type_list* list) {
  Report report = query_types(list);
  if (memstat_mtl_get_count(list) == 0 && !report.problem.empty()) return report;
  report.output = options.json  ? types_json(list)
                  : options.csv ? types_csv(list)
                                : types_text(list, options.human.value_or(true));
  return report;
}

Report run_limits(const CommandLine& options, memory_type_list* list) {
  Report report = query_types(list);
  if (memstat_mtl_get_count(list) == 0 && !report.problem.empty()) return report;
  report.output = options.json  ? limits_json(list)
                  : options.csv ? table_csv(limits_rows(list, false))
                                : table_text(limits_rows(list, options.human.value_or(true)), 2);
  return report;
}

void add_diff(OptionAdder& add) {
  add.states();
  add.json(kOwnJson);
  add.csv();
  add.human("Bytes as 2.3M: the default");
}

/// Fills a list from one of the two states. "" or why that is not possible.
std::string query_state(memory_type_list* list, const std::string& state) {
  if (memstat_mtl_set_capture(list, state.c_str()) != 0) return failure_of(list, {});
  return query_types(list).problem;  // half of a list would look as if the rest had been freed
}

Report run_diff(const CommandLine& options, memory_type_list* list) {
  const std::unique_ptr<memory_type_list, decltype(&memstat_mtl_free)> later(memstat_mtl_alloc(), memstat_mtl_free);
  if (later == nullptr) throw std::bad_alloc();
  const bool is_live = options.states.empty();
  Report report{.output = {}, .problem = query_state(list, is_live ? "live" : options.states[0])};
  if (!report.problem.empty()) return report;
  if (is_live) ::sleep(options.seconds.value_or(1));
  report.problem = query_state(later.get(), is_live ? "live" : options.states[1]);
  if (!report.problem.empty()) return report;
  report.output = options.json  ? diff_json(list, later.get())
                  : options.csv ? table_csv(diff_rows(list, later.get(), false))
                                : table_text(diff_rows(list, later.get(), options.human.value_or(true)), 2);
  return report;
}

void add_process(OptionAdder& add) {
  add.pids();
  add.from();
  add.json(kOwnJson);
}
Report run_process(const CommandLine& options, memory_type_list* list) {
  return process_report(list, options.pids, options.json);
}

void add_node(OptionAdder& add) {
  add.addresses();
  add.from();
  add.json(kOwnJson);
}
Report run_node(const CommandLine& options, memory_type_list* list) {
  return node_report(list, options.addresses, options.json);
}

void add_resident(OptionAdder& add) {
  add.paths();
  add.json(kOwnJson);
}
Report run_resident(const CommandLine& options, memory_type_list* /*list*/) {
  return resident_report(options.paths, options.json);
}

void add_counters(OptionAdder& add) {
  add.counters();
  add.json("JSON, whole numbers; rates as text");
}
Report run_counters(const CommandLine& options, memory_type_list* /*list*/) {
#if defined(MEMSTAT_HAVE_COUNTERS)
  return counters_report(options.counters, options.json);
#else
  static_cast<void>(options);
  return {.output = {}, .problem = "built without libcpc, which counts events"};
#endif
}

void add_completion(OptionAdder& add) { add.shell(); }
Report run_completion(const CommandLine& options, memory_type_list* /*list*/) {
  return {.output = completion_script(options.shell), .problem = {}};
}

constexpr std::array kCommands{
    Command{"malloc", "The malloc(9) types of a FreeBSD kernel, as vmstat -m prints them", add_malloc, run_malloc},
    Command{"zones", "The uma(9) zones of a FreeBSD kernel, as vmstat -z prints them", add_zones, run_zones},
    Command{"mbufs", "The network buffers of a FreeBSD kernel, as netstat -m prints them", add_zones, run_mbufs},
    Command{"types", "Every memory type of any kernel, the largest first", add_types, run_types},
    Command{"limits", "What failed and what is near its limit, nearest first", add_types, run_limits},
    Command{"diff", "Who grew between two captures, two polls, or now and later", add_diff, run_diff},
    Command{"process", "How much memory the processes of a Linux kernel use", add_process, run_process},
    Command{"node", "Which NUMA node of a Linux machine holds a physical address", add_node, run_node},
    Command{"resident", "How much of each file is in this machine's memory", add_resident, run_resident},
    Command{"counters", "Events of a CPU, a process or a command, counted by CPU and kernel", add_counters, run_counters},
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
