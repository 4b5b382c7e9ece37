// SPDX-License-Identifier: BSD-2-Clause
// One type, a line each time it is read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "daemon/ctl/commands/poll_walk.h"

namespace memstat::ctl {

struct WatchOptions {
  WalkOptions walk;
  std::string type;  ///< As find_named_type takes it.
  bool is_json = false;
  bool is_compact = false;  ///< Of JSON: on one line.
  bool is_csv = false;
  bool is_human = true;
};

/// What one state has of the type. Thread safety: a plain value.
struct WatchedState {
  double seconds = 0;
  std::optional<std::uint64_t> bytes;
  std::optional<std::uint64_t> objects;
  std::optional<std::uint64_t> failures;
};

/// One line of the report, or one JSON object: what there is, how much more it is than in the state before, how much more a
/// second, and how many allocations failed since boot. Of a type whose bytes the kernel does not count, objects.
std::string watch_line(const WatchOptions& options, const std::string& type, std::int64_t realtime_ns,
                       const WatchedState& state, const std::optional<WatchedState>& before);

/// Prints a line a state until there are no more or ^C. "" or why it ended.
std::string watch(ReportSource& source, const WatchOptions& options);

}  // namespace memstat::ctl
