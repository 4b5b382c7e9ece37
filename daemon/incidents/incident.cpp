// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/incidents/incident.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <exception>

#include "core/base/json_writer.h"
#include "core/base/text.h"
#include "core/base/unique_fd.h"
#include "core/capture/archive_error.h"
#include "core/capture/archive_stream.h"
#include "core/capture/flat_yaml.h"
#include "core/capture/manifest.h"
#include "core/kernel/open_directory.h"

namespace memstat {
namespace {

constexpr std::size_t kMaxNote = 64 << 10;
constexpr std::size_t kMaxFigures = 256;
constexpr std::int64_t kNsPerMillisecond = 1'000'000;
constexpr std::uint64_t kMaxMilliseconds = INT64_MAX / kNsPerMillisecond;
constexpr std::size_t kTimeLength = 16;  // "20261129T031012Z"

struct Text {
  std::string_view key;
  std::string Incident::*member;
};
constexpr std::array<Text, 10> kTexts{{{"cause", &Incident::cause},
                                       {"object", &Incident::object},
                                       {"headline", &Incident::headline},
                                       {"certainty", &Incident::certainty},
                                       {"killed", &Incident::killed},
                                       {"killer", &Incident::killer},
                                       {"culprit", &Incident::culprit},
                                       {"next", &Incident::next},
                                       {"evidence", &Incident::evidence},
                                       {"effect", &Incident::effect}}};

/// "TIME AVAILABLE BYTES LIMIT" of each poll, separated by commas; the time in milliseconds since 1970, "-": not known.
std::string format_figures(const std::vector<IncidentFigures>& figures) {
  const auto word = [](const std::optional<std::uint64_t>& amount) { return amount ? std::to_string(*amount) : "-"; };
  return separated(figures, ", ", [&](const IncidentFigures& one) {
    return std::to_string(one.realtime_ns / kNsPerMillisecond) + " " + word(one.available_bytes) + " " + word(one.bytes) +
           " " + word(one.limit_bytes);
  });
}

/// Skips what is not one.
std::vector<IncidentFigures> parse_figures(std::string_view text) {
  std::vector<IncidentFigures> all;
  while (!text.empty() && all.size() < kMaxFigures) {
    std::string_view one = text.substr(0, text.find(','));
    text.remove_prefix(std::min(one.size() + 1, text.size()));
    std::array<std::string_view, 4> words{};
    for (std::string_view& word : words) (void)next_word(one, word);
    const auto milliseconds = parse_u64(words[0]);
    if (!milliseconds || *milliseconds > kMaxMilliseconds) continue;
    all.push_back({.realtime_ns = static_cast<std::int64_t>(*milliseconds) * kNsPerMillisecond,
                   .available_bytes = parse_u64(words[1]),
                   .bytes = parse_u64(words[2]),
                   .limit_bytes = parse_u64(words[3])});
  }
  return all;
}

Result<Incident> read_note(const std::string& path, int fd) {
  auto stream = open_archive_stream(path, fd);
  if (!stream) return stream.error();
  TarReader reader(**stream);
  TarMember member;
  const auto found = reader.next(member);
  if (!found) return refused(path, found.error().detail);
  if (!*found || member.path != kIncidentNote || member.size > kMaxNote) return refused(path, "is not an incident");
  std::string text;
  while (true) {
    const auto piece = reader.content();
    if (!piece) return refused(path, piece.error().detail);
    if (piece->empty()) break;
    text += *piece;
  }
  return parse_incident(text, path);
}

Incident read_incident(const std::string& directory, int parent, const std::string& name) {
  Incident incident;
  incident.file = name;
  const std::string path = directory + "/" + name;
  const UniqueFd file(::openat(parent, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) {
    incident.problem = to_string(system_error(path, errno));
    return incident;
  }
  auto note = [&]() -> Result<Incident> {
    try {
      return read_note(path, file.get());
    } catch (const std::bad_alloc&) {
      return system_error(path, ENOMEM);
    }
  }();
  if (note) {
    incident = *std::move(note);
    incident.file = name;
  } else {
    incident.problem = to_string(note.error());
  }
  incident.bytes = static_cast<std::uint64_t>(status.st_size);
  return incident;
}

}  // namespace

std::string incident_file_name(std::int64_t realtime_ns, std::string_view cause) {
  const auto seconds = static_cast<std::time_t>(realtime_ns / 1'000'000'000);
  std::tm parts{};
  std::array<char, 32> text{};
  ::gmtime_r(&seconds, &parts);
  std::string name(text.data(), std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ", &parts));
  name.append("-").append(cause);
  return name + (packs_zstd() ? ".tar.zst" : ".tar");
}

bool is_incident_file(std::string_view name) {
  if (name.find('/') != std::string_view::npos) return false;
  if (name.size() <= kTimeLength + 1 || name[8] != 'T' || name[15] != 'Z' || name[16] != '-') return false;
  return name.ends_with(".tar.zst") || name.ends_with(".tar");
}

std::string_view incident_name(std::string_view file) { return file.substr(0, file.find(".tar")); }

void write_incident(JsonWriter& json, const Incident& incident) {
  // Milliseconds since 1970, which JavaScript's numbers represent exactly.
  const auto seconds_of = [](std::int64_t ns) {
    const std::int64_t milliseconds = ns / kNsPerMillisecond;
    return static_cast<double>(milliseconds) / 1000;
  };
  json.field("file", incident.file);
  if (incident.realtime_ns != 0) json.field("time", seconds_of(incident.realtime_ns));
  for (const Text& one : kTexts) {
    if (!(incident.*one.member).empty()) json.field(one.key, incident.*one.member);
  }
  if (!incident.problem.empty()) json.field("problem", incident.problem);
  json.field("polls", incident.polls).field("left_out", incident.left_out).field("bytes", incident.bytes);
  json.open_list("figures");
  for (const IncidentFigures& one : incident.figures) {
    json.open_object().field("time", seconds_of(one.realtime_ns));
    if (one.available_bytes) json.field("available_bytes", *one.available_bytes);
    if (one.bytes) json.field("bytes", *one.bytes);
    if (one.limit_bytes) json.field("limit_bytes", *one.limit_bytes);
    json.close();
  }
  json.close();
}

std::string command_at(std::string command, std::int64_t realtime_ns) {
  constexpr std::string_view kLastHour = "--since -1h";
  constexpr std::int64_t kMinute = 60'000'000'000;
  const std::size_t at = command.find(kLastHour);
  if (at == std::string::npos) return command;
  const auto time = [](std::int64_t ns) {  // as journalctl reads it
    std::string text = format_iso8601_utc(ns).substr(0, 19);
    std::replace(text.begin(), text.end(), 'T', ' ');
    return "'" + text + " UTC'";
  };
  const std::string period = "--since " + time(realtime_ns - 60 * kMinute) + " --until " + time(realtime_ns + kMinute);
  return command.replace(at, kLastHour.size(), period);
}

std::string format_incident(const Incident& incident) {
  std::string text = "format: 1\n";
  text += "time: " + format_iso8601_utc(incident.realtime_ns) + "\n";
  for (const Text& one : kTexts) text += std::string(one.key) + ": " + yaml_quote(incident.*one.member) + "\n";
  text += "figures: " + yaml_quote(format_figures(incident.figures)) + "\n";
  return text + "polls: " + std::to_string(incident.polls) + "\nleft_out: " + std::to_string(incident.left_out) + "\n";
}

Result<Incident> parse_incident(std::string_view text, std::string_view file) {
  const auto pairs = parse_flat_yaml(text, file);
  if (!pairs) return pairs.error();
  const YamlPair* const format = find_pair(*pairs, "format");
  if (format == nullptr || format->value != "1") return yaml_error(file, 1, "is not of format 1");
  Incident incident;
  const YamlPair* const time = find_pair(*pairs, "time");
  const auto realtime_ns = time == nullptr ? std::nullopt : parse_iso8601_utc(time->value);
  if (!realtime_ns) return yaml_error(file, time == nullptr ? 1 : time->line, "has no time such as 2026-11-29T03:10:12Z");
  incident.realtime_ns = *realtime_ns;
  for (const Text& one : kTexts) {
    if (const YamlPair* const pair = find_pair(*pairs, one.key)) incident.*one.member = pair->value;
  }
  if (const YamlPair* const figures = find_pair(*pairs, "figures")) incident.figures = parse_figures(figures->value);
  if (const YamlPair* const polls = find_pair(*pairs, "polls")) incident.polls = parse_u64(polls->value).value_or(0);
  if (const YamlPair* const files = find_pair(*pairs, "left_out")) incident.left_out = parse_u64(files->value).value_or(0);
  return incident;
}

void forget_old_figures(std::vector<Incident>& newest_first) {
  for (std::size_t i = kMaxCharts; i < newest_first.size(); ++i) newest_first[i].figures = {};
}

Incident read_incident(const std::string& path) {
  const std::size_t end = path.rfind('/');
  const std::string directory = end == std::string::npos ? "." : path.substr(0, std::max<std::size_t>(end, 1));
  const std::string name = path.substr(end == std::string::npos ? 0 : end + 1);
  const UniqueFd parent(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return read_incident(directory, parent.get(), name);
}

Result<std::vector<Incident>> list_incidents(const std::string& directory) {
  UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return system_error(directory, errno);
  UniqueFd again(::openat(fd.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!again) return system_error(directory, errno);
  const OpenDirectory names = open_directory(again);
  if (names == nullptr) return system_error(directory, errno);
  std::vector<Incident> incidents;
  while (const dirent* entry = ::readdir(names.get())) {
    if (is_incident_file(entry->d_name)) incidents.push_back(read_incident(directory, fd.get(), entry->d_name));
  }
  std::sort(incidents.begin(), incidents.end(), [](const Incident& a, const Incident& b) { return a.file > b.file; });
  forget_old_figures(incidents);
  return incidents;
}

}  // namespace memstat
