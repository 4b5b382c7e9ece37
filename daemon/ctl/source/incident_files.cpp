// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/source/incident_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "config/config.h"
#include "core/base/text.h"
#include "core/base/unique_fd.h"
#include "daemon/ctl/output/cells.h"
#include "daemon/ctl/source/document.h"
#include "daemon/ctl/source/http_client.h"
#include "daemon/ctl/source/report_source.h"

namespace memstat::ctl {
namespace {

constexpr const char* kPath = "/api/v1/incidents";

FoundIncidents of_directory(const std::string& directory) {
  FoundIncidents found;
  auto listed = list_incidents(directory);
  if (!listed) {
    found.problem = to_string(listed.error());
    return found;
  }
  found.list.incidents = *std::move(listed);
  found.list.directory = directory;
  return found;
}

FoundIncidents of_daemon(const std::string& url) {
  FoundIncidents found;
  found.url = url;
  DaemonAnswer answer = ask_daemon(url, kPath);
  found.problem = std::move(answer.problem);
  if (found.problem.empty() && !parse_incidents_answer(answer.text, found.list))
    found.problem = parse_url(url).url.for_logs + ": the response is not from memstatd; does another program listen there?";
  return found;
}

/// Writes the bytes to a new file. Returns its path; "" and `problem` if that failed.
std::string temporary_file(std::string_view bytes, std::string& problem) {
  const char* const directory = std::getenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe): no thread changes it
  std::string path = std::string(directory == nullptr || *directory == '\0' ? "/tmp" : directory) + "/memstatctl-XXXXXX";
  const UniqueFd file(::mkstemp(path.data()));
  while (file && !bytes.empty()) {
    const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) break;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  if (file && bytes.empty()) return path;
  problem = to_string(system_error(path, errno, "cannot copy the incident"));
  if (file) ::unlink(path.c_str());
  return {};
}

}  // namespace

bool parse_incidents_answer(std::string_view json, IncidentList& list) {
  const Document document = parsed_document(json);
  if (document.is_discarded() || list_of(document, "incidents") == nullptr) return false;
  list.directory = text_of(document, "directory");
  list.problem = text_of(document, "problem");
  each_of(document, "incidents", Document::value_t::object, [&](const Document& one) {
    Incident incident{.file = text_of(one, "file"),
                      .realtime_ns = std::llround(number_of(one, "time").value_or(0) * 1000) * 1'000'000,
                      .cause = text_of(one, "cause"),
                      .object = text_of(one, "object"),
                      .headline = text_of(one, "headline"),
                      .certainty = text_of(one, "certainty"),
                      .killed = text_of(one, "killed"),
                      .killer = text_of(one, "killer"),
                      .culprit = text_of(one, "culprit"),
                      .next = text_of(one, "next"),
                      .evidence = text_of(one, "evidence"),
                      .effect = text_of(one, "effect"),
                      .polls = amount_of(one, "polls").value_or(0),
                      .left_out = amount_of(one, "left_out").value_or(0),
                      .bytes = amount_of(one, "bytes").value_or(0),
                      .problem = text_of(one, "problem")};
    if (is_incident_file(incident.file)) list.incidents.push_back(std::move(incident));
  });
  return true;
}

FoundIncidents find_incidents(const std::optional<std::string>& from) {
  if (from) return is_url(*from) ? of_daemon(*from) : of_directory(*from);
  FoundIncidents running = of_daemon(kThisDaemon);
  if (running.problem.empty()) return running;
  const std::string directory(IncidentsConfig::kDirectory);
  FoundIncidents kept = of_directory(directory);
  if (!kept.problem.empty()) kept.problem = "no memstatd answers here, and " + kept.problem;
  return kept;
}

IncidentCapture find_incident(const std::optional<std::string>& from, const std::string& which) {
  FoundIncidents found = find_incidents(from);
  IncidentCapture capture;
  if (capture.problem = std::move(found.problem); !capture.problem.empty()) return capture;
  std::vector<Incident>& all = found.list.incidents;
  const auto number = parse_u64(which);
  auto wanted = all.end();
  if (!number) {
    wanted = std::find_if(all.begin(), all.end(),
                          [&](const Incident& one) { return one.file == which || incident_name(one.file) == which; });
  } else if (*number >= 1 && *number <= all.size()) {
    wanted = all.begin() + static_cast<std::ptrdiff_t>(*number - 1);
  }
  if (wanted == all.end()) {
    capture.problem = "there is no incident " + printable_bytes(which) +
                      (all.empty() ? ": none was kept" : "; memstatctl incidents lists " + std::to_string(all.size()));
    return capture;
  }
  capture.incident = std::move(*wanted);
  if (found.url.empty()) {
    capture.path = found.list.directory + "/" + capture.incident.file;
  } else {
    DaemonAnswer answer = ask_daemon(found.url, std::string(kPath) + "/" + capture.incident.file);
    if (capture.problem = std::move(answer.problem); !capture.problem.empty()) return capture;
    capture.path = temporary_file(answer.text, capture.problem);
    capture.is_copy = true;
    if (!capture.problem.empty()) return capture;
  }
  // Lists lack the figures of old incidents.
  Incident whole = read_incident(capture.path);
  if (capture.problem = std::move(whole.problem); !capture.problem.empty()) return capture;
  whole.file = std::move(capture.incident.file);
  capture.incident = std::move(whole);
  return capture;
}

}  // namespace memstat::ctl
