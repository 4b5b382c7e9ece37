// SPDX-License-Identifier: BSD-2-Clause
// Waits that ^C ends immediately and cleanly.
#pragma once

#include <csignal>
#include <cstdint>

namespace memstat::ctl {

/// While it exists, SIGINT, SIGTERM and SIGHUP only end this object's waits. Thread safety: none; one instance at a
/// time, in the only thread.
class StopSignals {
 public:
  StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals();

  /// Waits until the monotonic clock reaches `due_ns`. Returns false immediately once a signal has arrived, even
  /// earlier.
  bool wait_until(std::int64_t due_ns);
  /// Whether a signal has arrived.
  bool has_come();

 private:
  bool take(std::int64_t longest_ns);

  sigset_t signals_{};
  sigset_t before_{};
  bool has_come_ = false;
};

}  // namespace memstat::ctl
