// SPDX-License-Identifier: BSD-2-Clause
// The figures of an incident's polls that its chart shows.
#pragma once

#include <string_view>
#include <vector>

#include "core/capture/recent_polls.h"
#include "daemon/incidents/incident.h"

namespace memstat {

/// One for each poll that is written, oldest first. `object`: what the incident is about; figures of it only if it is a
/// control group of Linux.
std::vector<IncidentFigures> figures_of(const KeptPolls& polls, std::string_view object);

}  // namespace memstat
