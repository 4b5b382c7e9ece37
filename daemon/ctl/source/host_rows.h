// SPDX-License-Identifier: BSD-2-Clause
// What many hosts have in common in one row each, from a Prometheus-compatible server or from their own memstatds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/ctl/source/prometheus.h"

namespace memstat::ctl {

struct HostRow {
  std::string name;
  LabelSet labels = {};  ///< Those of the host in a Prometheus; empty: it was asked itself.
  std::string os = {};
  std::string release = {};   ///< Of the kernel; "": unknown.
  int severity = 0;           ///< Of the worst active finding: 4 now, 3 soon, 2 wasteful, 1 notable, 0 none.
  std::string cause = {};     ///< Of that finding.
  std::string headline = {};  ///< Of that finding; "": none, or the server has no words for it.
  std::optional<double> total_bytes = {};
  std::optional<double> available_bytes = {};  ///< The kernel's estimate.
  std::optional<double> kernel_bytes = {};     ///< What the kernel holds for itself.
  std::optional<double> growth_bytes = {};     ///< Of that within the last hour; only a Prometheus knows it.
  std::optional<double> failures = {};         ///< Failed allocations within the last hour; only a Prometheus knows them.
  std::string problem = {};                    ///< Why the host has no figures; "" if it has.

  [[nodiscard]] std::optional<double> available_share() const;
  [[nodiscard]] std::optional<double> kernel_share() const;
};

struct HostRows {
  std::vector<HostRow> hosts;
  std::vector<std::string> missing;  ///< Warnings of the server: the answer is partial.
  std::string problem;               ///< Why there is no answer at all, for display.
};

/// Parts of all memory that are not the kernel's own, as a regular expression: those of `notKernel` in the mixin.
extern const char* const kNotKernelParts;

HostRows rows_of_prometheus(PrometheusServer& server);

/// Asks each memstatd itself, many at a time. One that does not answer is a row with a problem.
HostRows rows_of_daemons(const std::vector<std::string>& urls);

}  // namespace memstat::ctl
