// SPDX-License-Identifier: BSD-2-Clause
// memstatd from the command line to the exit status.
#pragma once

namespace memstat {

/// Runs the daemon, always in the same order: options, configuration, log, kernel files opened, addresses checked,
/// privileges dropped, threads created, first poll, serve; then the signals until SIGTERM or SIGINT, and one way down. Exit
/// status: 0 done, 1 it could not run (with --once: no source was up), 2 wrong usage or configuration.
int run_app(int argc, const char* const* argv);

}  // namespace memstat
