// SPDX-License-Identifier: BSD-2-Clause
// Steps of the daemon's start, and the release of the memory that only they need.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "core/base/result.h"
#include "daemon/http/listeners.h"

namespace memstat {

/// Releases what startup left behind, on Linux: free heap, and pages of program files. About half of those pages contain
/// code that runs once (options, configuration, loading of programs, privileges). Pages that polls and scrapes use return
/// from the page cache on first use, and are then locked again if memory is locked. Call after the first poll; later calls
/// do nothing.
void release_startup_memory(bool is_locked);

/// Listens on the addresses of the key `listen`. Unix sockets belong to the daemon's later account, so that it can remove
/// them. Thread safety: none; the process must have one thread while it looks up accounts.
Result<HttpListeners> open_listeners(const Config& config);

/// The directories of the Unix sockets, from which the daemon removes them at exit.
std::vector<std::string> socket_directories(const Config& config);

/// Raises the soft limit of open files to the hard limit. If this fails the limit stays, and a source that runs into it
/// reports it. Call before the sources are opened.
void raise_open_file_limit();

}  // namespace memstat
