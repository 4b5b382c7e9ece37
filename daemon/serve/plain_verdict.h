// SPDX-License-Identifier: BSD-2-Clause
// The state of the machine in one sentence, for the page without JavaScript. The status page's is of daemon/web/view.js.
#pragma once

#include <span>
#include <string>

#include "daemon/snapshot/evidence_builder.h"
#include "daemon/snapshot/history.h"
#include "daemon/snapshot/snapshot.h"
#include "daemon/telemetry/source_status.h"

namespace memstat {

/// Thread safety: a plain value.
struct PlainVerdict {
  bool is_good = true;
  std::string text;  ///< As it is, not escaped.
};

/// The first finding, where it is above notable; else what fails, is at its limit, is down or is short. `history`: nullptr
/// for none; it says which failures are of the last hour. Thread safety: safe.
PlainVerdict plain_verdict(const Diagnosis& diagnosis, const Snapshot& snapshot, const History* history,
                           std::span<const SourceStatus> sources);

}  // namespace memstat
