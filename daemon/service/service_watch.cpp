// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/service/service_watch.h"

#include <exception>
#include <utility>

#include "core/base/thread_name.h"

namespace memstat {
namespace {

using std::chrono::nanoseconds;

// Interval of checks until memstatd is ready.
constexpr std::chrono::milliseconds kUntilReady{200};

}  // namespace

ServiceWatch::ServiceWatch(const ServiceManager& manager, Checks checks, const Clock& clock)
    : manager_(manager),
      checks_(std::move(checks)),
      clock_(clock),
      period_(manager.watchdog() ? nanoseconds(*manager.watchdog()) / 4 : nanoseconds(0)),
      pet_due_(clock.now()),
      thread_([this] { run(); }) {}

ServiceWatch::~ServiceWatch() {
  {
    const MutexLock lock(mutex_);
    must_end_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void ServiceWatch::polled() {
  {
    const MutexLock lock(mutex_);
    has_polled_ = true;
  }
  wake_.notify_all();
}

void ServiceWatch::reloading() {
  if (is_ready_) manager_.notify("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(clock_.monotonic_ns() / 1000));
}

void ServiceWatch::reloaded() {
  if (is_ready_) manager_.notify("READY=1");
}

void ServiceWatch::look() {
  if (!is_ready_ && checks_.is_first_poll_served()) {
    is_ready_ = true;
    manager_.notify("READY=1");
  }
  if (!is_ready_) return;
  if (std::string status = checks_.status(); status != status_) {
    manager_.notify("STATUS=" + status);
    status_ = std::move(status);
  }
  const TimePoint now = clock_.now();
  if (!manager_.watchdog() || now < pet_due_) return;
  pet_due_ = now + period_;
  // If polls are late by half of the manager's timeout, send nothing: the manager will soon restart memstatd.
  if (checks_.is_polling(period_ * 2) && checks_.is_serving()) manager_.notify("WATCHDOG=1");
}

void ServiceWatch::run() {
  name_thread("memstatd-watch");
  while (true) {
    try {
      look();
    } catch (const std::exception&) {  // std::bad_alloc: no sign of life this time
    }
    const TimePoint due = !is_ready_ ? clock_.now() + kUntilReady : manager_.watchdog() ? pet_due_ : TimePoint::max();
    MutexLock lock(mutex_);
    wake_.wait_until(mutex_, due, [this]() MEMSTAT_REQUIRES(mutex_) { return has_polled_ || must_end_; });
    if (must_end_) return;
    has_polled_ = false;
  }
}

}  // namespace memstat
