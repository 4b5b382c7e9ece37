// SPDX-License-Identifier: BSD-2-Clause
// Waiting in a way that ^C ends at once and in order.
#pragma once

#include <csignal>
#include <cstdint>

namespace memstat::ctl {

/// While it lives, SIGINT, SIGTERM and SIGHUP end no wait but this one's. Thread safety: none; one at a time, in the only
/// thread.
class StopSignals {
 public:
  StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals();

  /// Waits until the monotonic clock shows `due_ns`. False, at once, when a signal has come, also before.
  bool wait_until(std::int64_t due_ns);
  /// Whether one has come.
  bool has_come();

 private:
  bool take(std::int64_t longest_ns);

  sigset_t signals_{};
  sigset_t before_{};
  bool has_come_ = false;
};

}  // namespace memstat::ctl
