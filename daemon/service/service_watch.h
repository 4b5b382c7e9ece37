// SPDX-License-Identifier: BSD-2-Clause
// The service manager (systemd), and the thread that notifies it of readiness, status and liveness.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "core/base/clock.h"
#include "core/base/mutex.h"
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

/// Sends READY once the first poll is served, STATUS when it changes, and WATCHDOG only while both polls and server work.
/// Thread safety: polled(), reloading() and reloaded() are safe; the rest belongs to one thread.
class ServiceWatch {
 public:
  /// Called on the watch's thread, at any time until its destruction.
  struct Checks {
    std::function<bool()> is_first_poll_served;
    std::function<bool()> is_serving;
    /// Whether no poll is later than the given time.
    std::function<bool(std::chrono::nanoseconds)> is_polling;
    std::function<std::string()> status;  ///< One line for people.
  };

  ServiceWatch(const ServiceManager& manager, Checks checks, const Clock& clock = system_clock());
  /// Ends the thread after the current check.
  ~ServiceWatch();
  ServiceWatch(const ServiceWatch&) = delete;
  ServiceWatch& operator=(const ServiceWatch&) = delete;

  /// Call after each poll.
  void polled();
  /// Start and end of a reload; see Reloading. Sent only after READY.
  void reloading();
  void reloaded();

 private:
  void run();
  void look();

  const ServiceManager& manager_;
  const Checks checks_;
  const Clock& clock_;
  std::chrono::nanoseconds period_;  // between two WATCHDOG messages
  Mutex mutex_;
  CondVar wake_;
  bool has_polled_ MEMSTAT_GUARDED_BY(mutex_) = false;
  bool must_end_ MEMSTAT_GUARDED_BY(mutex_) = false;
  std::atomic<bool> is_ready_ = false;  // the following members belong to the thread
  std::string status_;
  TimePoint pet_due_;
  std::thread thread_;
};

/// Shows the manager a reload for as long as this object exists. `watch` may be null.
class Reloading {
 public:
  explicit Reloading(ServiceWatch* watch) : watch_(watch) {
    if (watch_ != nullptr) watch_->reloading();
  }
  ~Reloading() {
    if (watch_ != nullptr) watch_->reloaded();
  }
  Reloading(const Reloading&) = delete;
  Reloading& operator=(const Reloading&) = delete;

 private:
  ServiceWatch* watch_;
};

}  // namespace memstat
