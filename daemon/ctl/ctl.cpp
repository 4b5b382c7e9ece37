// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/ctl.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <string_view>

#include "core/include/memstat.h"
#include "daemon/ctl/commands/commands.h"
#include "daemon/ctl/commands/options.h"
#include "daemon/ctl/output/failure.h"
#include "daemon/ctl/output/json_writer.h"
#include "daemon/ctl/output/output.h"
#include "daemon/ctl/source/report_source.h"

namespace memstat::ctl {
namespace {

int complain(const std::string& problem) {
  std::fprintf(stderr, "memstatctl: %s\n", problem.c_str());
  return kExitFailed;
}

int run_command(const CommandLine& options) {
  // What opens dumps looks there; no other thread runs yet.
  if (!options.kernel.empty()) ::setenv("MEMSTAT_KERNEL", options.kernel.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  const std::unique_ptr<memory_type_list, decltype(&memstat_mtl_free)> list(memstat_mtl_alloc(), memstat_mtl_free);
  if (list == nullptr) return complain("not enough memory");
  const Report report = options.command->run(options, list.get());
  std::string_view notes = memstat_mtl_get_notes(list.get());
  for (; !notes.empty(); notes.remove_prefix(notes.find('\n') + 1)) complain(std::string(notes.substr(0, notes.find('\n'))));
  for (const std::string& note : report.notes) complain(note);
  const bool is_compact = options.json_layout == kCompact && !report.output.empty();
  const int status = print(is_compact ? compact_json(report.output) : report.output);
  for (const std::string& line : report.missing) complain(line);
  if (!report.problem.empty()) return complain(report.problem);
  return status == kExitDone && !report.missing.empty() ? kExitPartial : status;
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
