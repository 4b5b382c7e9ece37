// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/http_workers.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "daemon/http_sockets.h"

namespace memstat {

HttpWorkers::~HttpWorkers() {
  stop();
  for (const int end : wake_pipe_) {
    if (end >= 0) ::close(end);
  }
}

Result<void> HttpWorkers::start(std::size_t count) {
  workers_.resize(count);
  // A pipe and poll, not a condition variable: the wait needs a monotonic timeout that thread checkers understand too.
  if (::pipe(wake_pipe_) != 0) return system_error("HTTP server", errno, "cannot make a pipe");
  for (const int end : wake_pipe_) {
    ::fcntl(end, F_SETFD, FD_CLOEXEC);
    ::fcntl(end, F_SETFL, O_NONBLOCK);
  }
  try {
    guard_ = std::thread([this] { guard(); });
  } catch (const std::system_error& error) {
    return system_error("HTTP server", error.code().value(), "cannot start a thread");
  }
  return {};
}

void HttpWorkers::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (Worker& worker : workers_) shut_down(worker);
    wake_guard();
  }
  if (guard_.joinable()) guard_.join();
}

void HttpWorkers::begin(std::size_t index, int descriptor) {
  const std::lock_guard lock(mutex_);
  Worker& worker = workers_[index];
  if (worker.state == WorkerState::kFree) ++busy_;
  worker = {.state = WorkerState::kWaiting, .descriptor = descriptor, .shut_down = false, .since = Clock::now()};
  if (stopping_) shut_down(worker);
  if (busy_ == workers_.size()) wake_guard();
}

void HttpWorkers::change(std::size_t index, WorkerState state, int descriptor) {
  const std::lock_guard lock(mutex_);
  Worker& worker = workers_[index];
  worker.state = state;
  worker.descriptor = descriptor;
  worker.since = Clock::now();
  if (stopping_) shut_down(worker);
  if (state != WorkerState::kAnswering && busy_ == workers_.size()) wake_guard();
}

void HttpWorkers::end(std::size_t index) {
  const std::lock_guard lock(mutex_);
  if (workers_[index].state != WorkerState::kFree) --busy_;
  workers_[index] = {};
}

bool HttpWorkers::crowded() const {
  const std::lock_guard lock(mutex_);
  return stopping_ || busy_ * 4 > workers_.size() * 3;
}

std::size_t HttpWorkers::evictions() const {
  const std::lock_guard lock(mutex_);
  return evictions_;
}

void HttpWorkers::shut_down(Worker& worker) {
  if (worker.descriptor < 0 || worker.shut_down) return;
  ::shutdown(worker.descriptor, SHUT_RDWR);
  worker.shut_down = true;
}

void HttpWorkers::wake_guard() {
  if (wake_pipe_[1] >= 0) [[maybe_unused]]
    const ssize_t ignored = ::write(wake_pipe_[1], "", 1);  // full pipe: awake anyway
}

HttpWorkers::Clock::time_point HttpWorkers::evict_oldest() {
  const auto now = Clock::now();
  auto next = Clock::time_point::max();
  if (busy_ < workers_.size()) return next;
  Worker* oldest = nullptr;
  Clock::time_point oldest_due = Clock::time_point::max();
  for (Worker& worker : workers_) {
    if (worker.descriptor < 0 || worker.shut_down) continue;
    if (worker.state != WorkerState::kWaiting && worker.state != WorkerState::kStalled) continue;
    const auto due = worker.since + (worker.state == WorkerState::kWaiting ? kHeaderGrace : kReadGrace);
    if (due >= oldest_due) continue;
    oldest = &worker;
    oldest_due = due;
  }
  if (oldest == nullptr) return next;
  if (oldest_due > now) return oldest_due;
  if (oldest->state == WorkerState::kWaiting && has_unread_bytes(oldest->descriptor)) {
    // Its worker has bytes to read and is only short of processor time.
    oldest->since = now;
    return now + kHeaderGrace;
  }
  shut_down(*oldest);
  ++evictions_;
  return now + std::chrono::milliseconds(1);  // time for the freed worker to take the next connection
}

void HttpWorkers::guard() {
  auto next = Clock::time_point::max();
  for (;;) {
    int wait = -1;
    if (next != Clock::time_point::max()) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now()).count();
      wait = static_cast<int>(std::max<std::int64_t>(left, 0));
    }
    pollfd wake{wake_pipe_[0], POLLIN, 0};
    ::poll(&wake, 1, wait);
    std::array<char, 64> drained;
    while (::read(wake_pipe_[0], drained.data(), drained.size()) > 0) {
    }
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    next = evict_oldest();
  }
}

}  // namespace memstat
