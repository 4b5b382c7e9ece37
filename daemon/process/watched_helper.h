// SPDX-License-Identifier: BSD-2-Clause
// A helper process during the life of the daemon. If it exits, the log reports it once.
#pragma once

#include <atomic>
#include <optional>
#include <string_view>
#include <utility>

#include "config/config.h"
#include "daemon/privileges/helper.h"
#include "daemon/telemetry/log.h"
#include "daemon/telemetry/self_metrics.h"

namespace memstat {

/// Thread safety: watch() in one thread, is_lost() in any, the rest before threads exist.
class WatchedHelper {
 public:
  /// `when_gone` is the log line for its loss, a literal. Log and metrics must outlive this object.
  WatchedHelper(Log& log, SelfMetrics& metrics, LogLevel level, std::string_view when_gone)
      : log_(log), metrics_(metrics), level_(level), when_gone_(when_gone) {}

  void keep(HelperProcess process) { process_ = std::move(process); }
  /// Sets the helper metric to 1.
  void set_ready() { metrics_.helper_up(true); }
  /// Waits for it to exit. Its socket must be closed.
  void end() {
    process_->wait();
    process_.reset();
  }
  /// Call when a child has exited. `is_alive` is whether the other end of its socket is open.
  void watch(bool is_alive) {
    if (!process_ || is_alive) return;
    (void)process_->has_ended();
    if (is_lost_.exchange(true)) return;
    metrics_.helper_up(false);
    log_.write(level_, when_gone_);
  }

  [[nodiscard]] bool exists() const { return process_.has_value(); }
  /// Its process ID; 0: none.
  [[nodiscard]] pid_t number() const { return process_ ? process_->number() : 0; }
  [[nodiscard]] bool is_lost() const { return is_lost_; }

 private:
  Log& log_;
  SelfMetrics& metrics_;
  const LogLevel level_;
  const std::string_view when_gone_;
  std::optional<HelperProcess> process_;
  std::atomic<bool> is_lost_ = false;
};

}  // namespace memstat
