// SPDX-License-Identifier: BSD-2-Clause
// The listeners of a configuration, opened before privileges are given up.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "core/base/result.h"
#include "daemon/http/listeners.h"

namespace memstat {

/// Listens where the key `listen` says. The files of unix sockets belong to the account that the daemon will have, so that
/// it can remove them. Thread safety: none; the process has one thread when it looks up accounts.
Result<HttpListeners> open_listeners(const Config& config);

/// The directories of the unix sockets, from which the daemon removes them at the end. Thread safety: safe.
std::vector<std::string> socket_directories(const Config& config);

}  // namespace memstat
