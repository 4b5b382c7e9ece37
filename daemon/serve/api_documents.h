// SPDX-License-Identifier: BSD-2-Clause
// The documents of /api/v1/, each made from one snapshot. memstatd(8) describes them, and
// tests/support/browser/api_schema.json is their schema. A figure that the kernel does not provide is omitted, never 0.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "daemon/incidents/incident.h"
#include "daemon/serve/query.h"
#include "daemon/snapshot/evidence_builder.h"
#include "daemon/snapshot/history.h"
#include "daemon/snapshot/snapshot.h"
#include "daemon/telemetry/self_metrics.h"
#include "daemon/telemetry/source_status.h"

namespace memstat {

/// The machine, for display. Empty members are unknown.
struct HostInfo {
  std::string name = {};                 ///< host name
  std::string os = {};                   ///< "linux", "freebsd"
  std::string release = {};              ///< the kernel's release
  std::string machine = {};              ///< "x86_64", "amd64"
  std::string replay = {};               ///< The capture being replayed; empty for the live kernel.
  std::string warning = {};              ///< which clients cannot reach this memstatd, and what to do, as of the start
  std::string opened_as = {};            ///< The identity with which memstatd opened the kernel's files.
  std::string runs_as = {};              ///< Its identity since then.
  std::vector<std::string> mounts = {};  ///< What hid figures at the start, such as a file system that was not mounted.
};

/// Each allocates its document and does not touch the kernel.
[[nodiscard]] std::string types_document(const Snapshot& snapshot, const ApiRequest& request);
[[nodiscard]] std::string type_document(const Snapshot& snapshot, std::size_t row, std::span<const SourceStatus> sources);
[[nodiscard]] std::string history_document(const Snapshot& snapshot, const History& history, const ApiRequest& request);
[[nodiscard]] std::string growth_document(const Snapshot& snapshot, const History& history, const ApiRequest& request);
[[nodiscard]] std::string findings_document(const Snapshot& snapshot, const Diagnosis& diagnosis);
[[nodiscard]] std::string incidents_document(const Snapshot& snapshot, const IncidentList& list);
[[nodiscard]] std::string type_history_document(const Snapshot& snapshot, std::size_t row, const History& history);
[[nodiscard]] std::string sources_document(const Snapshot& snapshot, std::span<const SourceStatus> sources,
                                           const SelfMetrics& metrics, const History* history, std::string_view version,
                                           const HostInfo& host = {});
[[nodiscard]] std::string events_document(const Snapshot& snapshot);
[[nodiscard]] std::string memory_document(const Snapshot& snapshot, const HostInfo& host, const History* history);

}  // namespace memstat
