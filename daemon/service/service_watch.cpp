// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/service/service_watch.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <utility>

#include "core/base/text.h"
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
  const MutexLock lock(mutex_);
  has_polled_ = true;
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

namespace {

/// Returns a variable's value and removes it from the environment; "" if it was not set.
std::string take_variable(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
  std::string taken(value == nullptr ? "" : value);
  unsetenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
  return taken;
}

/// A path, or an abstract socket name after '@'.
UniqueFd connect_to(std::string_view name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const bool is_usable = name.size() > 1 && name.size() < sizeof address.sun_path && (name[0] == '/' || name[0] == '@');
  if (!is_usable) return {};
  name.copy(address.sun_path, name.size());
  if (name[0] == '@') address.sun_path[0] = '\0';
  UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  if (!socket || ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0) return {};
  return socket;
}

}  // namespace

ServiceManager ServiceManager::of_environment() {
  const std::string name = take_variable("NOTIFY_SOCKET");
  const auto microseconds = parse_u64(take_variable("WATCHDOG_USEC"));
  const std::string process = take_variable("WATCHDOG_PID");
  ServiceManager manager;
  manager.socket_ = connect_to(name);
  const bool is_for_us = process.empty() || parse_u64(process) == static_cast<std::uint64_t>(getpid());
  constexpr std::uint64_t kMax = 365ULL * 24 * 3600 * 1'000'000;
  if (manager.is_there() && is_for_us && microseconds && *microseconds > 0 && *microseconds <= kMax) {
    manager.watchdog_ = std::chrono::microseconds(*microseconds);
  }
  return manager;
}

void ServiceManager::notify(std::string_view state) const {
  if (!socket_) return;
  [[maybe_unused]] const ssize_t sent = ::send(socket_.get(), state.data(), state.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

}  // namespace memstat
