// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/ctl.h"

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <memory>
#include <new>
#include <string>

#include "core/include/memstat.h"
#include "daemon/ctl/linux_reports.h"
#include "daemon/ctl/malloc_report.h"
#include "daemon/ctl/mbufs_report.h"
#include "daemon/ctl/options.h"
#include "daemon/ctl/output.h"
#include "daemon/ctl/resident_report.h"
#include "daemon/ctl/types_report.h"
#include "daemon/ctl/zones_report.h"

namespace memstat::ctl {
namespace {

using List = std::unique_ptr<memory_type_list, decltype(&memstat_mtl_free)>;

/// The list's last failure, for people. `wanted` tells what a kernel that is not there would have to be.
std::string failure_of(const List& list, const std::string& wanted) {
  std::string text = memstat_mtl_get_message(list.get());
  const int error = memstat_mtl_geterror(list.get());
  if (text.empty()) text = memstat_strerror(error);  // there was no memory for more
  if (error == MEMSTAT_ERROR_NOTPRESENT && !wanted.empty()) text += "\n" + wanted;
  return text;
}

std::string hint_of(const CommandLine& options) {
  return "memstatctl " + std::string(name_of(options.command)) +
         " shows FreeBSD kernels only: name a capture of one with --from CAPTURE[@POLL]; memstatctl types shows every "
         "kernel";
}

/// What the types of FreeBSD's or Linux's kernel are, whichever is there. Some may be missing: then `problem` says why.
Report query_types(const List& list) {
  Report report;
  const bool has_malloc = memstat_sysctl_malloc(list.get(), 0) == 0;
  if (!has_malloc && memstat_mtl_geterror(list.get()) == MEMSTAT_ERROR_NOTPRESENT) {
    // Only a Linux kernel is left to ask; where there is none either, its message is as good as the first.
    if (memstat_linux_all(list.get(), 0) != 0) report.problem = failure_of(list, {});
    return report;
  }
  if (!has_malloc) report.problem = failure_of(list, {});
  if (memstat_sysctl_uma(list.get(), 0) != 0 && report.problem.empty()) report.problem = failure_of(list, {});
  return report;
}

/// Reads what the command needs and makes its report.
Report make_report(const CommandLine& options, const List& list) {
  const bool is_human = options.human.value_or(options.command == Command::kTypes || ::isatty(STDOUT_FILENO) == 1);
  const auto refused = [&] { return Report{.output = {}, .problem = failure_of(list, hint_of(options))}; };
  switch (options.command) {
    case Command::kMalloc:
      if (memstat_sysctl_malloc(list.get(), 0) != 0) return refused();
      return {.output =
                  options.json ? malloc_json(list.get(), options.format) : malloc_text(list.get(), options.format, is_human),
              .problem = {}};
    case Command::kZones:
      if (memstat_sysctl_uma(list.get(), 0) != 0) return refused();
      return {.output = options.json ? zones_json(list.get(), options.format) : zones_text(list.get(), options.format),
              .problem = {}};
    case Command::kMbufs:
      if (memstat_sysctl_all(list.get(), 0) != 0) return refused();
      return mbufs_report(list.get(), options.json);
    case Command::kProcess: return process_report(list.get(), options.pids, options.json);
    case Command::kNode: return node_report(list.get(), options.addresses, options.json);
    case Command::kResident: return resident_report(options.paths, options.json);
    case Command::kTypes: break;
  }
  Report report = query_types(list);
  if (memstat_mtl_get_count(list.get()) == 0 && !report.problem.empty()) return report;
  report.output = options.json ? types_json(list.get()) : types_text(list.get(), is_human);
  return report;
}

int complain(const std::string& problem) {
  std::fprintf(stderr, "memstatctl: %s\n", problem.c_str());
  return kExitFailed;
}

int run_command(const CommandLine& options) {
  const List list(memstat_mtl_alloc(), memstat_mtl_free);
  if (list == nullptr) return complain("not enough memory");
  if (options.from && memstat_mtl_set_capture(list.get(), *options.from == kFromLive ? "" : options.from->c_str()) != 0) {
    return complain(failure_of(list, {}));
  }
  const Report report = make_report(options, list);
  const int status = print(report.output);
  return report.problem.empty() ? status : complain(report.problem);
}

}  // namespace

int run(int argc, const char* const* argv) {
  // A reader that goes away (`memstatctl zones | head -1`) is a failed write, not a silent death.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    const ParsedCommandLine parsed = parse_command_line(argc, argv);
    return parsed.exit_status ? *parsed.exit_status : run_command(parsed.options);
  } catch (const std::bad_alloc&) {
    return complain("not enough memory");
  }
}

}  // namespace memstat::ctl
