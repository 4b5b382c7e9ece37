// SPDX-License-Identifier: BSD-2-Clause
// Memory that only the daemon's startup needs.
#pragma once

namespace memstat {

/// Releases what startup left behind, on Linux: free heap, and pages of program files. About half of those pages contain
/// code that runs once (options, configuration, loading of programs, privileges). Pages that polls and scrapes use return
/// from the page cache on first use, and are then locked again if memory is locked. Call after the first poll; later calls
/// do nothing.
void release_startup_memory(bool is_locked);

}  // namespace memstat
