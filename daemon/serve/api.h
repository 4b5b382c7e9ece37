// SPDX-License-Identifier: BSD-2-Clause
// Serves /api/v1/: documents of the published snapshot, for the status page and for scripts.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/mutex.h"
#include "daemon/exposition/snapshot_pool.h"
#include "daemon/http/server.h"
#include "daemon/serve/api_documents.h"
#include "daemon/serve/gzip.h"
#include "daemon/snapshot/evidence_builder.h"

namespace memstat {

/// Answers GET requests below /api/v1/. Documents are as of the last poll, which the ETag identifies; a client that has the
/// current document gets status 304 at the cost of a comparison. Documents without parameters are made and compressed once
/// per snapshot, for all clients. Never touches the kernel. Thread safety: safe.
class Api {
 public:
  static constexpr std::string_view kPrefix = "/api/v1/";

  /// All must outlive this object. `history` and `diagnostician` may be nullptr. `started` must differ between runs of the
  /// daemon.
  Api(const SnapshotPool& pool, const SelfMetrics& metrics, const SourceStatuses& sources, const History* history,
      const Diagnostician* diagnostician, HostInfo host, std::string version, std::int64_t started)
      : pool_(pool),
        metrics_(metrics),
        sources_(sources),
        history_(history),
        diagnostician_(diagnostician),
        host_(std::move(host)),
        version_(std::move(version)),
        started_(started) {}

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
  HttpResponse type(const HttpRequest& request, const Snapshot& snapshot, std::string_view path);
  HttpResponse history(const HttpRequest& request, const Snapshot& snapshot, const ApiRequest& wanted);

  const SnapshotPool& pool_;
  const SelfMetrics& metrics_;
  const SourceStatuses& sources_;
  const History* history_;
  const Diagnostician* diagnostician_;
  HostInfo host_;
  std::string version_;
  std::int64_t started_;
  GzipCompressor compressor_;
  Kept types_;
  Kept overview_;
  Kept growth_;
  Kept findings_;
};

}  // namespace memstat
