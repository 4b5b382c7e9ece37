// SPDX-License-Identifier: BSD-2-Clause
// The paths of the HTTP server.
#pragma once

#include "daemon/serve/api.h"
#include "daemon/serve/page_cache.h"
#include "daemon/serve/web_pages.h"

namespace memstat {

/// Answers requests from the published snapshot. Touches the kernel only through Options::refresh, if configured. Thread
/// safety: safe; respond() runs on several threads at once.
class Pages {
 public:
  using Options = PagesOptions;

  /// All must outlive the server that calls respond().
  Pages(const SnapshotPool& pool, const SelfMetrics& metrics, const SourceStatuses& sources, const Clock& clock,
        Options options)
      : pool_(pool),
        sources_(sources),
        clock_(clock),
        options_(std::move(options)),
        cache_(pool, metrics, clock),
        api_(pool, metrics, sources, options_, clock.realtime_ns()) {}

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
  const Options options_;
  PageCache cache_;
  Api api_;
  WebPages web_;
};

}  // namespace memstat
