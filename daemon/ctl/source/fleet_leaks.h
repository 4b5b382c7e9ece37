// SPDX-License-Identifier: BSD-2-Clause
// Leaks of a few of many hosts, or of a kernel release, from a Prometheus-compatible server.
#pragma once

#include <string>
#include <vector>

#include "daemon/ctl/source/fleet_growth.h"
#include "daemon/ctl/source/prometheus.h"

namespace memstat::ctl {

struct FleetLeaks {
  std::vector<std::string> hosts;  ///< Names, by the numbers in `leaks`.
  std::vector<FleetType> types;
  std::vector<FleetLeak> leaks;
  double seconds = 0;                ///< Length of the window.
  std::vector<std::string> notes;    ///< What was not compared, and why.
  std::vector<std::string> missing;  ///< Warnings of the server: the answer is partial.
  std::string problem;               ///< Why there is no answer, for display.
};

/// Asks a bounded number of queries. `seconds`: how far back to look. `group_by`: a label of hosts, or release or os.
FleetLeaks fleet_leaks(PrometheusServer& server, double seconds, const std::string& group_by);

}  // namespace memstat::ctl
