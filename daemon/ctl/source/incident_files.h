// SPDX-License-Identifier: BSD-2-Clause
// The incidents of a directory, or of a running memstatd.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "daemon/incidents/incident.h"

namespace memstat::ctl {

/// Parses /api/v1/incidents, which is untrusted. Returns false for an invalid document. Throws std::bad_alloc.
bool parse_incidents_answer(std::string_view json, IncidentList& list);

/// `from`: a directory, or a memstatd's URL. Empty: the memstatd of this machine, or without one its usual directory.
/// An error, for display, is in `problem`; `list.problem` says why nothing is kept.
struct FoundIncidents {
  IncidentList list;
  std::string url;  ///< of the memstatd that has them; "": a directory
  std::string problem;
};
FoundIncidents find_incidents(const std::optional<std::string>& from);

/// One incident as a capture that can be opened.
struct IncidentCapture {
  Incident incident;
  std::string path;
  bool is_copy = false;  ///< a temporary file, to be removed once it was opened
  std::string problem;   ///< "" if there is one, and only then
};
/// `which`: its number in the list, from 1, or the name of its file.
IncidentCapture find_incident(const std::optional<std::string>& from, const std::string& which);

}  // namespace memstat::ctl
