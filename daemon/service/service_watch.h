// SPDX-License-Identifier: BSD-2-Clause
// The thread that tells the service manager that memstatd is ready, what it does, and that it still works.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "daemon/service/service_manager.h"

namespace memstat {

/// Says READY once the first poll is served, STATUS when that changed, and WATCHDOG only while polls and server both work.
/// Thread safety: polled(), reloading() and reloaded() are safe; the rest belongs to one thread.
class ServiceWatch {
 public:
  /// What is looked at, on the thread of this. Each may be called at any time until the end of this.
  struct Checks {
    std::function<bool()> is_first_poll_served;
    std::function<bool()> is_serving;
    /// Whether no poll is later than the given time.
    std::function<bool(std::chrono::nanoseconds)> is_polling;
    std::function<std::string()> status;  ///< One line for people.
  };

  ServiceWatch(const ServiceManager& manager, Checks checks, const Clock& clock = system_clock());
  /// Ends the thread, after the check that is under way.
  ~ServiceWatch();
  ServiceWatch(const ServiceWatch&) = delete;
  ServiceWatch& operator=(const ServiceWatch&) = delete;

  /// A poll has ended.
  void polled();
  /// A reload begins, and has ended: see Reloading. Said only to a manager that knows that memstatd is ready.
  void reloading();
  void reloaded();

 private:
  void run();
  void look();

  const ServiceManager& manager_;
  const Checks checks_;
  const Clock& clock_;
  std::chrono::nanoseconds period_;  // between two signs of life
  Mutex mutex_;
  CondVar wake_;
  bool has_polled_ MEMSTAT_GUARDED_BY(mutex_) = false;
  bool must_end_ MEMSTAT_GUARDED_BY(mutex_) = false;
  std::atomic<bool> is_ready_ = false;  // the rest is of the thread
  std::string status_;
  TimePoint pet_due_;
  std::thread thread_;
};

/// For its life the manager sees that memstatd reloads. `watch` may be null.
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
