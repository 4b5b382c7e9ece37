// SPDX-License-Identifier: BSD-2-Clause
// The output of --list-metrics and --list-sources: tab-separated, with a header line.
#pragma once

#include <string>

namespace memstat {

/// name, type, unit, scope, labels (names separated by commas), tier, help: every metric of the catalogue.
std::string metric_list();

/// name, os, allocator, roster, figures, per_cpu, origin, notes: every source of this build.
std::string source_list();

}  // namespace memstat
