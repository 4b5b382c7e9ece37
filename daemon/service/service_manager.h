// SPDX-License-Identifier: BSD-2-Clause
// What a service manager such as systemd is told: that memstatd serves, reloads, stops, what it does, and that it still
// works. Its socket is found in the environment and connected before privileges are dropped: later no address can be
// reached.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "core/base/unique_fd.h"

namespace memstat {

/// The connection to the manager that started this process; nothing is told when there is none. Thread safety: tell() is
/// safe.
class ServiceManager {
 public:
  /// Takes NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID out of the environment, so that no child has them. A socket that
  /// cannot be reached is as none. Requires a process of one thread.
  static ServiceManager of_environment();

  [[nodiscard]] bool is_there() const { return static_cast<bool>(socket_); }
  /// How long it waits for a sign of life before it ends this process; nothing: it asked for none.
  [[nodiscard]] std::optional<std::chrono::microseconds> watchdog() const { return watchdog_; }
  /// Sends "NAME=VALUE", one or more on lines of their own. Never waits; what the manager cannot take is lost.
  void tell(std::string_view state) const;

 private:
  UniqueFd socket_;
  std::optional<std::chrono::microseconds> watchdog_;
};

}  // namespace memstat
