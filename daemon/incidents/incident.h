// SPDX-License-Identifier: BSD-2-Clause
// An incident: the capture of the polls before and after something was killed, failed or ran out, and a note about it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace memstat {

class JsonWriter;

/// Of one poll, for the chart.
struct IncidentFigures {
  std::int64_t realtime_ns = 0;                       ///< since 1970
  std::optional<std::uint64_t> available_bytes = {};  ///< of the machine; nothing: the kernel does not estimate it
  std::optional<std::uint64_t> bytes = {};            ///< used by the control group; nothing: the incident is about none
  std::optional<std::uint64_t> limit_bytes = {};      ///< of the control group; nothing: it has none
  bool operator==(const IncidentFigures&) const = default;
};

/// What the note says. Texts are at most as long as a label of memstat_finding_info, but for the story.
struct Incident {
  std::string file;              ///< its name in the directory
  std::int64_t realtime_ns = 0;  ///< of the poll that noticed it, since 1970
  std::string cause;             ///< of the finding, such as "cgroup_oom_kill"
  std::string object;            ///< what it is about, such as a control group; "": the machine
  std::string headline;
  std::string certainty;
  std::string killed;                         ///< the last victim; "": not known, or nothing was killed
  std::string killer;                         ///< who decided that: "kernel", "systemd-oomd"; "": nothing was killed
  std::string culprit;                        ///< who holds the memory, as far as it was known; "": its cause names none
  std::string next;                           ///< a command
  std::string evidence;                       ///< the facts of the finding, at most kMaxStory bytes
  std::string effect;                         ///< of a kill with what would have prevented it, likewise
  std::uint64_t polls = 0;                    ///< in its capture
  std::uint64_t left_out = 0;                 ///< files of its last poll for which there was no room
  std::uint64_t bytes = 0;                    ///< size of its file
  std::string problem;                        ///< why the note cannot be read; "": it could
  std::vector<IncidentFigures> figures = {};  ///< of its polls, oldest first
};

/// A command of a finding for later: "--since -1h" becomes the hour before the incident, and a minute after it.
std::string command_at(std::string command, std::int64_t realtime_ns);

/// Incidents whose charts are shown: 48 polls of thousands of incidents would be megabytes.
inline constexpr std::size_t kMaxCharts = 20;
/// Longer texts are cut.
inline constexpr std::size_t kMaxStory = 2000;
/// Removes the figures of all but the first kMaxCharts.
void forget_old_figures(std::vector<Incident>& newest_first);

/// What a memstatd has kept.
struct IncidentList {
  std::vector<Incident> incidents;  ///< newest first
  std::string directory;            ///< "": none is used
  std::string problem;              ///< why none are kept; "": they are
};

/// The cause of the incident that pstore's log becomes.
inline constexpr std::string_view kPreviousBoot = "previous_boot";

/// The first member of the archive, which readers of captures ignore.
inline constexpr std::string_view kIncidentNote = "incident.yaml";

/// "20261129T031012Z-cgroup_oom_kill.tar.zst"; .tar if this build has no libzstd.
std::string incident_file_name(std::int64_t realtime_ns, std::string_view cause);
bool is_incident_file(std::string_view name);
/// The file's name without what follows the cause, as people type it.
std::string_view incident_name(std::string_view file);

/// Adds its members to an open JSON object; those without a value are left out.
void write_incident(JsonWriter& json, const Incident& incident);

std::string format_incident(const Incident& incident);
/// Errors: kData with `file` and line. Unknown keys are ignored, so that a newer memstatd may add some.
Result<Incident> parse_incident(std::string_view text, std::string_view file);

/// Reads the note of one file; `problem` says why it cannot be read.
Incident read_incident(const std::string& path);

/// Reads the notes of a directory, newest first, with the figures of kMaxCharts. One that cannot be read has a `problem`.
/// Errors: system_error of the directory.
Result<std::vector<Incident>> list_incidents(const std::string& directory);

}  // namespace memstat
