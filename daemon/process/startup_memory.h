// SPDX-License-Identifier: BSD-2-Clause
// Memory that only the start of the daemon needs.
#pragma once

namespace memstat {

/// Gives back what the start left behind, on Linux: free heap, and pages of program files. Code that runs once (options,
/// configuration, loading of programs, privileges) is half of these; what polls and scrapes use comes back from the page
/// cache when they use it, and is then locked again where memory is locked. Call after the first poll; later calls do
/// nothing. Thread safety: one thread.
void release_startup_memory(bool is_locked);

}  // namespace memstat
