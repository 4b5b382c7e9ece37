// SPDX-License-Identifier: BSD-2-Clause
// A descriptor that is readable after files in a directory were written.
#pragma once

#include <span>
#include <string>

#include "core/base/unique_fd.h"

namespace memstat {

/// The descriptor; none if no directory can be watched. Linux: inotify(7). Elsewhere there is no journal to watch.
UniqueFd watch_directories(std::span<const std::string> directories);
/// Reads what was reported, so that the descriptor waits for the next change. Does not block.
void discard_changes(int changes);

}  // namespace memstat
