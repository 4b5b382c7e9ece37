// SPDX-License-Identifier: BSD-2-Clause
// What is served at which path.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "daemon/http_server.h"
#include "daemon/poller.h"
#include "daemon/self_metrics.h"
#include "daemon/snapshot_pool.h"

namespace memstat {

/// Answers requests from the published snapshot. Never touches the kernel. Thread safety: safe; respond() runs on several
/// threads at once.
class Pages {
 public:
  struct Options {
    std::string version;
    bool enable_reload = false;
    /// Reloads the configuration and says what was wrong with it: empty when nothing. Called on an HTTP thread.
    std::function<std::vector<std::string>()> reload;
  };

  /// All must outlive the server that calls respond().
  Pages(const SnapshotPool& pool, const SelfMetrics& metrics, const Poller& poller, Options options)
      : pool_(pool), metrics_(metrics), poller_(poller), options_(std::move(options)) {}

  [[nodiscard]] HttpResponse respond(const HttpRequest& request) const;

 private:
  [[nodiscard]] HttpResponse metrics() const;
  [[nodiscard]] HttpResponse ready() const;
  [[nodiscard]] HttpResponse landing() const;
  [[nodiscard]] HttpResponse reload() const;

  const SnapshotPool& pool_;
  const SelfMetrics& metrics_;
  const Poller& poller_;
  Options options_;
};

}  // namespace memstat
