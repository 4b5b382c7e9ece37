// SPDX-License-Identifier: BSD-2-Clause
// Notifies a service manager such as systemd that memstatd serves, reloads or stops, of its status, and that it is alive.
// The socket is found in the environment and connected before privileges are dropped, because no address is reachable
// afterwards.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "core/base/unique_fd.h"

namespace memstat {

/// The connection to the manager that started this process. Without a manager, notifications do nothing. Thread safety:
/// notify() is safe.
class ServiceManager {
 public:
  /// Removes NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID from the environment, so that no child inherits them. An
  /// unreachable socket counts as none. Requires a process with one thread.
  static ServiceManager of_environment();

  [[nodiscard]] bool is_there() const { return static_cast<bool>(socket_); }
  /// The watchdog timeout, after which the manager ends this process; nothing if it requested none.
  [[nodiscard]] std::optional<std::chrono::microseconds> watchdog() const { return watchdog_; }
  /// Sends one or more "NAME=VALUE" lines. Never blocks; drops what the manager cannot accept.
  void notify(std::string_view state) const;

 private:
  UniqueFd socket_;
  std::optional<std::chrono::microseconds> watchdog_;
};

}  // namespace memstat
