// SPDX-License-Identifier: BSD-2-Clause
// What works of this machine's sources and what does not, as memstatd --selftest has it, and what the memstatd that runs
// here may read and who can reach it.
#pragma once

#include <optional>
#include <string>

#include "daemon/ctl/output/output.h"
#include "daemon/ctl/source/api_answers.h"
#include "daemon/selftest/selftest.h"

namespace memstat::ctl {

/// Tries every source of this machine's kernel, and asks the memstatd at `url`, by default the one at the default address.
/// The problem says so when a source that the kernel has does not work, and when that memstatd has one that is down or
/// clients that cannot reach it.
Report doctor_report(Layout layout, const std::optional<std::string>& url);

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
std::string doctor_csv(const SelfTest& test);

}  // namespace memstat::ctl
