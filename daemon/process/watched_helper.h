// SPDX-License-Identifier: BSD-2-Clause
// A helper process over the life of the daemon: it is there, and when it is gone the operator reads so, once.
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
  /// `when_gone`: the line of the log, a literal. Log and metrics outlive this.
  WatchedHelper(Log& log, SelfMetrics& metrics, LogLevel level, std::string_view when_gone)
      : log_(log), metrics_(metrics), level_(level), when_gone_(when_gone) {}

  void keep(HelperProcess process) { process_ = std::move(process); }
  /// It has all that it needs: the figure that operators watch is 1 from now on.
  void is_at_work() { metrics_.helper_up(true); }
  /// Waits for its end. Its socket must be closed.
  void end();
  /// When a child has ended. `is_alive`: whether its socket has the other end.
  void watch(bool is_alive);

  [[nodiscard]] bool exists() const { return process_.has_value(); }
  /// Its process number; 0: there is none.
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
