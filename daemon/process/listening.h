// SPDX-License-Identifier: BSD-2-Clause
// Opens the configured listeners before privileges are dropped.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "core/base/result.h"
#include "daemon/http/listeners.h"

namespace memstat {

/// Listens on the addresses of the key `listen`. Unix sockets belong to the daemon's later account, so that it can remove
/// them. Thread safety: none; the process must have one thread while it looks up accounts.
Result<HttpListeners> open_listeners(const Config& config);

/// The directories of the Unix sockets, from which the daemon removes them at exit.
std::vector<std::string> socket_directories(const Config& config);

}  // namespace memstat
