// SPDX-License-Identifier: BSD-2-Clause
// Writes the events of the kernel's log in a snapshot, for the API and reports.
#pragma once

#include "core/base/json_writer.h"
#include "daemon/snapshot/snapshot.h"

namespace memstat {

/// Writes members of an open JSON object: counts, by event; events, oldest first, with time, event, parsed fields and the
/// lines as text. Writes neither if there is no log. Allocates.
void write_kernel_events(JsonWriter& json, const Snapshot& snapshot);

}  // namespace memstat
