// SPDX-License-Identifier: BSD-2-Clause
// Manages the helper process during the life of the daemon: created if a source may need it, kept if one does, and watched.
#pragma once

#include <memory>

#include "config/config.h"
#include "core/base/not_copyable.h"
#include "core/events/attach/attach_helper.h"
#include "daemon/process/watched_helper.h"

namespace memstat {

/// Thread safety: start() and keep_if_needed() before threads exist, then watch() in one thread; is_lost() in any.
class EventHelper : NotCopyable {
 public:
  /// Both must outlive this object.
  EventHelper(Log& log, SelfMetrics& metrics);
  ~EventHelper() { events::set_process_helper(nullptr); }

  /// Forks the helper if an enabled source lists helper capabilities. Must be called before anything is opened, so that the
  /// helper inherits nothing. A failure is only logged: sources then work, but cannot attach again.
  void start(const Config& config);
  /// Call after the sources are opened: the helper accepts nothing more, and exits if no source needs it.
  void keep_if_needed();
  /// Call when a child has exited. Reports the loss once.
  void watch();
  [[nodiscard]] bool is_lost() const { return process_.is_lost(); }

 private:
  Log& log_;
  WatchedHelper process_;
  std::shared_ptr<events::AttachHelper> handle_;
};

}  // namespace memstat
