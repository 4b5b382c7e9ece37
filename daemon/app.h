// SPDX-License-Identifier: BSD-2-Clause
// memstatd from the command line to the exit status.
#pragma once

namespace memstat {

/// Runs the daemon in a fixed order: options, configuration, log, kernel files opened, addresses checked, privileges
/// dropped, threads created, first poll, serve. Then it handles signals until SIGTERM or SIGINT and shuts down. Exit status:
/// 0 done, 1 could not run (with --once: no source was up), 2 invalid usage or configuration.
int run_app(int argc, const char* const* argv);

}  // namespace memstat
