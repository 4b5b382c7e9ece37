// SPDX-License-Identifier: BSD-2-Clause
// What memstatd prints, and the lists of --list-metrics and --list-sources: tab-separated, with a header line.
#pragma once

#include <string>
#include <string_view>

namespace memstat {

/// Exit statuses.
inline constexpr int kDone = 0, kCouldNotRun = 1, kWrongUsage = 2;

/// Writes to standard output; false with errno if not all could be written.
bool print(std::string_view text);
/// The same, and a message. Returns the exit status.
int print_or_complain(std::string_view text);
/// Prints the self-test. The exit status shows whether every source of this kernel works.
int print_selftest();

/// name, type, unit, scope, labels (names separated by commas), tier, help: every metric of the catalogue.
std::string metric_list();

/// name, os, allocator, roster, figures, per_cpu, origin, notes: every source of this build.
std::string source_list();

}  // namespace memstat
