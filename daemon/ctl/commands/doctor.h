// SPDX-License-Identifier: BSD-2-Clause
// What works of this machine's sources and what does not, as memstatd --selftest has it, and what the memstatd that runs
// here may read and who can reach it.
#pragma once

#include <optional>
#include <string>

#include "daemon/ctl/output/output.h"
#include "daemon/ctl/output/report_table.h"
#include "daemon/ctl/source/api_answers.h"
#include "daemon/selftest/selftest.h"

namespace memstat::ctl {

/// The running memstatd. Thread safety: a plain value.
struct RunningDaemon {
  std::string url;  ///< Without user and password.
  DaemonState state;
  std::string problem;  ///< Why it does not answer; "" when it does.

  /// Whether it answers, no source is down and no client is kept out.
  [[nodiscard]] bool is_healthy() const;
};

/// For people: what it has that is not as it could be.
std::string running_daemon_text(const RunningDaemon& daemon);

/// An outcome as JSON, and as comma-separated values, a source a line. `daemon`: nullptr for none.
std::string doctor_json(const SelfTest& test, const RunningDaemon* daemon);
ReportTable doctor_table(const SelfTest& test);

}  // namespace memstat::ctl
