// SPDX-License-Identifier: BSD-2-Clause
// The signals of the daemon: SIGHUP reloads, SIGTERM and SIGINT stop, SIGCHLD says that a helper process ended. Thread
// safety: called by the main thread, except is_stop_wanted().
#pragma once

namespace memstat {

/// First thing in main. SIGHUP is blocked: one that comes during the start is kept, and reloads once the daemon serves, even
/// where the parent had it ignored; so is SIGCHLD.
/// SIGTERM and SIGINT end the process at once with status 0: nothing that has to be put in order exists yet, and whatever
/// the start waits for need not come to an end. SIGPIPE is ignored: a log that is closed is no reason to end.
void hold_signals_for_start();

/// For a command that prints and ends (`--once`, `--list-metrics`): every signal does what the parent left it to do.
void release_signals();

/// From here on SIGTERM and SIGINT wait as well, for wait_for_signal(). Before anything is made that must be put in order,
/// and before the first thread, so that no other thread takes them.
void block_stop_signals();

/// The next SIGHUP, SIGTERM, SIGINT or SIGCHLD. Requires block_stop_signals().
int wait_for_signal();

/// Whether a SIGTERM or SIGINT has come: code that waits for something should stop waiting. Thread safety: any thread that
/// has them blocked.
bool is_stop_wanted();

}  // namespace memstat
