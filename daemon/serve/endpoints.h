// SPDX-License-Identifier: BSD-2-Clause
// The paths of the HTTP server.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "daemon/exposition/snapshot_pool.h"
#include "daemon/http/server.h"
#include "daemon/serve/api.h"
#include "daemon/serve/page_cache.h"
#include "daemon/serve/web_pages.h"
#include "daemon/telemetry/self_metrics.h"
#include "daemon/telemetry/source_status.h"

namespace memstat {

/// Answers requests from the published snapshot. Touches the kernel only through Options::refresh, if configured. Thread
/// safety: safe; respond() runs on several threads at once.
class Pages {
 public:
  struct Options {
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
    HostInfo host = {};
    /// Whether the configuration selects types for per-CPU figures. Empty: it does not.
    std::function<bool()> has_per_cpu = {};
  };

  /// All must outlive the server that calls respond().
  Pages(const SnapshotPool& pool, const SelfMetrics& metrics, const SourceStatuses& sources, const Clock& clock,
        Options options)
      : pool_(pool),
        sources_(sources),
        clock_(clock),
        options_(std::move(options)),
        cache_(pool, metrics, clock),
        api_(pool, metrics, sources, options_.history, options_.diagnostician, options_.host, options_.version,
             clock.realtime_ns()) {}

  [[nodiscard]] HttpResponse respond(const HttpRequest& request);

 private:
  HttpResponse metrics(const HttpRequest& request);
  HttpResponse healthy(const HttpRequest& request);
  HttpResponse ready(const HttpRequest& request);
  HttpResponse plain_page(const HttpRequest& request);
  HttpResponse reload(const HttpRequest& request);

  const SnapshotPool& pool_;
  const SourceStatuses& sources_;
  const Clock& clock_;
  Options options_;
  PageCache cache_;
  Api api_;
  WebPages web_;
};

}  // namespace memstat
