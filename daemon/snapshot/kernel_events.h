// SPDX-License-Identifier: BSD-2-Clause
// The events of the kernel's log of one snapshot, as a document: for the API and for reports.
#pragma once

#include "core/base/json_writer.h"
#include "daemon/snapshot/snapshot.h"

namespace memstat {

/// Members of an open object of JSON: counts, by event; events, oldest first, with time, event, the fields of its lines, and
/// the lines as text. Without a log: both are missing. Allocates. Thread safety: safe.
void write_kernel_events(JsonWriter& json, const Snapshot& snapshot);

}  // namespace memstat
