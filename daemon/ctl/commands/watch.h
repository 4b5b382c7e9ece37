// SPDX-License-Identifier: BSD-2-Clause
// One type, a line each time it is read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "daemon/ctl/commands/poll_walk.h"
#include "daemon/ctl/output/report_table.h"

namespace memstat::ctl {

struct WatchOptions {
  WalkOptions walk;
  std::string type;  ///< As find_named_type takes it.
  ReportView view;
};

/// What one state has of the type. Thread safety: a plain value.
struct WatchedState {
  double seconds = 0;
  std::int64_t time_ns = 0;  ///< Since 1970.
  std::optional<std::uint64_t> bytes;
  std::optional<std::uint64_t> objects;
  std::optional<std::uint64_t> failures;
};

/// The table of a type, empty. `is_bytes`: changes are of bytes; of objects where the kernel counts no bytes.
ReportTable watch_table(bool is_bytes);

/// Adds what there is, how much more it is than in the state before, and how much more a second.
void add_state(ReportTable& table, const std::string& type, const WatchedState& state,
               const std::optional<WatchedState>& before, bool is_bytes);

/// Prints a line a state until there are no more or ^C.
Report watch(ReportSource& source, const WatchOptions& options);

}  // namespace memstat::ctl
