// SPDX-License-Identifier: BSD-2-Clause
// Events of the kernel's log as reports have them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace memstat::ctl {

struct EventRow {
  std::optional<double> time;  ///< Seconds since 1970; nothing: the kernel's start is not known.
  double since_boot = 0;       ///< s
  std::string event;           ///< "oom_kill"
  std::vector<std::pair<std::string, std::string>> fields;
  std::vector<std::string> lines;
};

/// Thread safety: a plain value.
struct EventsAnswer {
  bool has_log = false;          ///< False: the log was not read.
  std::vector<EventRow> events;  ///< Oldest first.
  std::string problem;           ///< Why there is no answer, for people; "" when there is.
};

/// False when the bytes are no such document. They may come from anybody.
bool parse_events_answer(std::string_view json, EventsAnswer& answer);

}  // namespace memstat::ctl
