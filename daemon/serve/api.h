// SPDX-License-Identifier: BSD-2-Clause
// Serves /api/v1/: documents of the published snapshot, for the status page and for scripts.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/mutex.h"
#include "daemon/exposition/rendered_snapshot.h"
#include "daemon/http/server.h"
#include "daemon/incidents/incident.h"
#include "daemon/serve/api_documents.h"
#include "daemon/serve/gzip.h"
#include "daemon/snapshot/evidence_builder.h"

namespace memstat {

/// What the pages of the server show, and whom they call.
struct PagesOptions {
  std::string version;
  bool enable_reload = false;
  /// Reloads the configuration and returns its problems; empty on success. Called on an HTTP thread.
  std::function<std::vector<std::string>()> reload;
  /// Polls the kernel if the last poll is too old, and waits until the deadline. Empty: scrapes never touch the kernel.
  std::function<void(std::chrono::steady_clock::time_point)> refresh = {};
  /// Earlier figures of the types. nullptr: no history.
  const History* history = nullptr;
  /// nullptr: no findings.
  const Diagnostician* diagnostician = nullptr;
  /// Empty: none are kept here.
  std::function<IncidentList()> incidents = {};
  /// The bytes of one of them, by the name of its file.
  std::function<Result<std::string>(std::string_view)> incident_file = {};
  HostInfo host = {};
  /// Whether the configuration selects types for per-CPU figures. Empty: it does not.
  std::function<bool()> has_per_cpu = {};
};

/// Answers GET requests below /api/v1/. Documents are as of the last poll, which the ETag identifies; a client that has the
/// current document gets status 304 at the cost of a comparison. Documents without parameters are made and compressed once
/// per snapshot, for all clients. Never touches the kernel. Thread safety: safe.
class Api {
 public:
  static constexpr std::string_view kPrefix = "/api/v1/";

  /// All must outlive this object. `started` must differ between runs of the daemon.
  Api(const SnapshotPool& pool, const SelfMetrics& metrics, const SourceStatuses& sources, const PagesOptions& options,
      std::int64_t started)
      : pool_(pool), metrics_(metrics), sources_(sources), options_(options), started_(started) {}

  /// Requires a path that begins with kPrefix, and the method GET. Errors are JSON too: {"error": "..."}.
  [[nodiscard]] HttpResponse respond(const HttpRequest& request);

 private:
  /// A cached document. Immutable once shared.
  struct Document {
    std::string etag;
    std::string plain;
    Buffer gzip;
    bool is_compressed = false;
  };
  /// The cache entry of one path.
  struct Kept {
    Mutex mutex;
    std::shared_ptr<const Document> document MEMSTAT_GUARDED_BY(mutex);
  };
  template <typename Make>
  HttpResponse answer(const HttpRequest& request, const Snapshot& snapshot, Kept* kept, Make make);
  HttpResponse incident(std::string_view file) const;
  HttpResponse type(const HttpRequest& request, const Snapshot& snapshot, std::string_view path);
  HttpResponse history(const HttpRequest& request, const Snapshot& snapshot, const ApiRequest& wanted);

  const SnapshotPool& pool_;
  const SelfMetrics& metrics_;
  const SourceStatuses& sources_;
  const PagesOptions& options_;
  std::int64_t started_;
  GzipCompressor compressor_;
  Kept types_;
  Kept overview_;
  Kept growth_;
  Kept findings_;
};

}  // namespace memstat
