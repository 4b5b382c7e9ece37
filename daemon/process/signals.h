// SPDX-License-Identifier: BSD-2-Clause
// The daemon's signals: SIGHUP reloads, SIGTERM and SIGINT stop, SIGCHLD reports the exit of a helper process. Thread
// safety: main thread only, except is_stop_wanted().
#pragma once

namespace memstat {

/// Call first in main.
///
/// - SIGHUP and SIGCHLD are blocked. A SIGHUP during startup stays pending and reloads once the daemon serves, even if the
///   parent had ignored it.
/// - SIGTERM and SIGINT end the process at once with status 0, because there is nothing to clean up yet.
/// - SIGPIPE and SIGXFSZ are ignored, because a closed log or a full file is not a reason to exit.
void hold_signals_for_start();

/// Ignores SIGPIPE and SIGXFSZ, so that writing to a closed pipe or beyond `ulimit -f` fails with an error.
void ignore_failing_writes();

/// For commands that print and exit (`--once`, `--list-metrics`): restores the inherited dispositions, except of SIGXFSZ.
void release_signals();

/// Makes SIGTERM and SIGINT pending too, for wait_for_signal(). Call it before anything needs cleanup, and before the first
/// thread is created, so that no other thread receives them.
void block_stop_signals();

/// Waits for the next SIGHUP, SIGTERM, SIGINT or SIGCHLD. Requires block_stop_signals().
int wait_for_signal();

/// Whether a SIGTERM or SIGINT is pending; code that waits should then stop waiting. Thread safety: any thread that has them
/// blocked.
bool is_stop_wanted();

}  // namespace memstat
