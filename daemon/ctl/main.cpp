// SPDX-License-Identifier: BSD-2-Clause
// memstatctl from its arguments to its exit status.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>

#include "daemon/ctl/commands/options.h"
#include "daemon/ctl/output/report_table.h"

namespace memstat::ctl {
namespace {

int complain(const std::string& problem) {
  std::fprintf(stderr, "memstatctl: %s\n", problem.c_str());
  return kExitFailed;
}

int run_command(const CommandLine& options) {
  // The dump opener reads this. There are no other threads yet.
  if (!options.kernel.empty()) ::setenv("MEMSTAT_KERNEL", options.kernel.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  const Report report = options.command->run(options);
  for (const std::string& note : report.notes) complain(note);
  const int status = print(report.output);
  for (const std::string& line : report.missing) complain(line);
  if (!report.problem.empty()) {
    complain(report.problem);
    return report.status == kExitUsage ? kExitUsage : kExitFailed;
  }
  if (status != kExitDone || report.status != kExitDone) return status != kExitDone ? status : report.status;
  return report.missing.empty() ? kExitDone : kExitPartial;
}

/// Prints the report to standard output and errors to standard error. Never throws. Ignores SIGPIPE and SIGXFSZ from then
/// on.
int run(int argc, const char* const* argv) {
  // If the reader exits (`memstatctl zones | head -1`), report a failed write instead of dying silently.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // above `ulimit -f`, a write fails with EFBIG
  try {
    const ParsedCommandLine parsed = parse_command_line(argc, argv);
    return parsed.exit_status ? *parsed.exit_status : run_command(parsed.options);
  } catch (const std::bad_alloc&) {
    return complain("not enough memory");
  }
}

}  // namespace
}  // namespace memstat::ctl

int main(int argc, char** argv) { return memstat::ctl::run(argc, argv); }
