// SPDX-License-Identifier: BSD-2-Clause
// The helper process over the life of the daemon: made where a source may need it, kept where one does, watched.
#pragma once

#include <memory>

#include "config/config.h"
#include "core/events/attach/attach_helper.h"
#include "daemon/process/watched_helper.h"

namespace memstat {

/// Thread safety: start() and keep_if_needed() before threads exist, then watch() in one thread; is_lost() in any.
class EventHelper {
 public:
  /// Both outlive this.
  EventHelper(Log& log, SelfMetrics& metrics);
  ~EventHelper() { events::set_process_helper(nullptr); }
  EventHelper(const EventHelper&) = delete;
  EventHelper& operator=(const EventHelper&) = delete;

  /// Forks it, where a source that is not off names capabilities for one. Before anything is opened, so that it has none of
  /// it. What hinders it is logged, and no more: the sources work without, but then do not come back.
  void start(const Config& config);
  /// Once sources are open: it learns nothing more, and ends when none of them has need of it.
  void keep_if_needed();
  /// When a child has ended: says once that it is gone.
  void watch();
  [[nodiscard]] bool is_lost() const { return process_.is_lost(); }

 private:
  Log& log_;
  WatchedHelper process_;
  std::shared_ptr<events::AttachHelper> door_;
};

}  // namespace memstat
