// SPDX-License-Identifier: BSD-2-Clause
// Memory of processes of a Linux kernel.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "daemon/ctl/commands/kernel_list.h"
#include "daemon/ctl/commands/shared_options.h"

namespace memstat::ctl {
namespace {

constexpr std::array<ReportColumn, 7> kProcessColumns{
    {{.key = "pid", .title = "PID", .unit = Unit::kNumber},
     {.key = "name", .title = "NAME", .least = 8},
     {.key = "size_bytes", .title = "SIZE", .unit = Unit::kBytes},
     {.key = "resident_bytes", .title = "RESIDENT", .unit = Unit::kBytes},
     {.key = "shared_bytes", .title = "SHARED", .unit = Unit::kBytes, .rank = 1},
     {.key = "text_bytes", .title = "TEXT", .unit = Unit::kBytes, .rank = 2},
     {.key = "data_bytes", .title = "DATA", .unit = Unit::kBytes, .rank = 3}}};

constexpr auto kProcessOptions = joined(
    std::array{argument("PROCESS", {0, Option::kAny}, "Process IDs or names; all processes of this machine if none is given",
                        store<&CommandLine::words>),
               kKernelOption, kFromOption},
    kReportOptions);

int pid_of(std::string_view word) {
  const std::uint64_t pid = parse_u64(word).value_or(0);
  return pid <= INT_MAX ? static_cast<int>(pid) : 0;
}

/// All processes of this machine except memstatctl itself.
std::vector<int> running_processes() {
  std::vector<int> pids;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), end; !error && entry != end; entry.increment(error)) {
    const int pid = pid_of(entry->path().filename().string());
    if (pid != 0 && pid != ::getpid()) pids.push_back(pid);
  }
  std::sort(pids.begin(), pids.end());
  return pids;
}

constexpr std::string_view kHidden = "not in this answer: processes of other users, which /proc hides (its option hidepid)";

void add_row(ReportTable& table, int pid, const memstat_process& process) {
  table.add({static_cast<std::uint64_t>(pid), printable_bytes(process.name), process.size, process.resident, process.shared,
             process.text, process.data});
}

/// Adds the processes named by a word: a number, or a process name on this machine. Returns "" or why there are none.
std::string add_named(ReportTable& table, const KernelList& list, const std::string& word) {
  memstat_process process;
  if (const int pid = pid_of(word); pid != 0) {
    if (memstat_get_process(list.get(), pid, &process) != 0) return memstat_mtl_get_message(list.get());
    add_row(table, pid, process);
    return {};
  }
  const std::size_t before = table.size();
  for (const int pid : running_processes()) {
    if (memstat_get_process(list.get(), pid, &process) == 0 && word == process.name) add_row(table, pid, process);
  }
  return table.size() != before ? std::string() : "no process here is named \"" + printable_bytes(word) + "\"";
}

/// Prints a row for each process; missing ones are in the problem. Without words: all of this machine, largest first.
Report run_process(const CommandLine& options) {
  const KernelList list;
  if (!list.reads(options)) return list.failure();
  ReportTable table("processes", kProcessColumns);
  std::string problem;
  const bool is_live = options.from.value_or("live") == "live";
  const bool has_names =
      std::any_of(options.words.begin(), options.words.end(), [](const auto& word) { return pid_of(word) == 0; });
  if (!is_live && (options.words.empty() || has_names)) {
    return {.problem = "process: for a capture give process IDs; names refer to processes of this machine"};
  }
  for (const std::string& word : options.words) {
    if (const std::string why = add_named(table, list, word); !why.empty()) {
      problem += (problem.empty() ? "" : "\nmemstatctl: ") + why;
    }
  }
  bool hides_any = false;
  if (options.words.empty()) {
    memstat_process process;
    const std::vector<int> pids = running_processes();
    hides_any = ::getpid() != 1 && (pids.empty() || pids.front() != 1);
    for (const int pid : pids) {
      const bool is_read = memstat_get_process(list.get(), pid, &process) == 0;
      if (is_read) add_row(table, pid, process);
      hides_any |= !is_read && memstat_mtl_geterror(list.get()) == MEMSTAT_ERROR_PERMISSION;
    }
  }
  ReportView view = options.view;
  if (view.sort.empty() && options.words.empty()) view.sort = "resident_bytes";
  Report report = table.empty() ? Report{} : report_of(std::move(table), view);
  if (!problem.empty()) report.problem = problem;
  report.notes = list.notes();
  if (hides_any) report.missing.emplace_back(kHidden);
  return report;
}

}  // namespace

const Command kProcessCommand{"process",
                              Group::kMachine,
                              "Memory use of Linux processes",
                              "memstatctl process --limit 10\n"
                              "memstatctl process postgres 1234\n"
                              "memstatctl process 1 --json --from bug.tar.zst",
                              kProcessOptions,
                              run_process};

}  // namespace memstat::ctl
