// SPDX-License-Identifier: BSD-2-Clause
// Answers as members of an open JSON object, for the API and `memstatctl why --json`.
#pragma once

#include "core/base/json_writer.h"
#include "core/diagnosis/diagnose.h"
#include "daemon/snapshot/growth_report.h"
#include "daemon/snapshot/kernel_events.h"

namespace memstat {

/// polls, polls_needed, seconds, enough, moved, growing, set_aside.
void write_growth(JsonWriter& json, const GrowthAnswer& answer);

/// counts, by event; events, oldest first, with time, event, fields and lines. Neither if there is no log.
void write_kernel_events(JsonWriter& json, const EventsAnswer& answer);

/// findings, ruled_out, not_checked, watched_seconds, polls, and view if it is partial.
void write_diagnosis(JsonWriter& json, const Diagnosis& diagnosis);

}  // namespace memstat
