// SPDX-License-Identifier: BSD-2-Clause
// The events of the kernel's log in a snapshot, for the API and memstatctl.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/snapshot/snapshot.h"

namespace memstat {

/// An event in the kernel's log.
struct EventRow {
  struct Field {
    std::string name;
    std::string value;
    bool is_number = false;
  };

  std::optional<double> time;        ///< Seconds since 1970; empty: unknown.
  std::optional<double> since_boot;  ///< s; empty: the log has no time, and the line was there at the first read.
  std::string event;                 ///< "oom_kill"
  std::vector<Field> fields = {};
  std::vector<std::string> lines;
};

struct EventsAnswer {
  bool has_log = false;                                            ///< False: the log was not read.
  std::vector<std::pair<std::string, std::uint64_t>> counts = {};  ///< By event, since the log was first read.
  std::vector<EventRow> events;                                    ///< Oldest first.
  std::string problem;                                             ///< Why there is no answer; "" if there is one.
};

/// Parses the snapshot's log. Allocates.
EventsAnswer kernel_events(const Snapshot& snapshot);

}  // namespace memstat
