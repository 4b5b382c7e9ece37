// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/poll_walk.h"

#include <algorithm>

#include "core/base/clock.h"
#include "core/capture/reference.h"

namespace memstat::ctl {

PollWalk::PollWalk(ReportSource& source, const WalkOptions& options)
    : source_(source), options_(options), poll_count_(source.poll_count()) {}

std::uint64_t PollWalk::expected() const {
  const std::uint64_t all = is_capture() ? poll_count_ - std::min(poll_count_, options_.first) : 0;
  if (!options_.count) return all;
  return is_capture() ? std::min(all, *options_.count) : *options_.count;
}

/// Selects the next state for reading. Returns false if there is none.
bool PollWalk::select_state() {
  if (signals_.has_arrived() || (options_.count && states_ == *options_.count)) return false;
  if (is_capture()) {
    const std::size_t number = options_.first + states_;
    if (number >= poll_count_) return false;
    problem_ = source_.select_poll(number);
    return problem_.empty();
  }
  if (states_ == 0) due_ns_ = system_clock().monotonic_ns();
  if (!signals_.wait_until(due_ns_)) return false;
  due_ns_ = next_in_schedule(due_ns_, options_.interval_ns, system_clock().monotonic_ns());
  return true;
}

/// A memstatd polls at its own interval: query it every second until it has a new poll, with a progress message.
/// Returns false after a signal.
bool PollWalk::wait_for_poll(std::int64_t last_ns) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  constexpr std::int64_t kMaxWaitForPoll = 120;
  Progress progress;
  for (std::int64_t waited = 0; sample_.time_ns == last_ns && sample_.problem.empty(); ++waited) {
    if (waited > 2 && !source_.machine().replay.empty()) break;  // a replay that has ended has no new poll
    if (waited == kMaxWaitForPoll) {
      problem_ = "this memstatd has not polled for " + std::to_string(waited) + " s";
      return false;
    }
    if (waited != 0) progress.show("waiting for the next poll of memstatd, " + std::to_string(waited) + " s");
    if (!signals_.wait_until(system_clock().monotonic_ns() + kSecond)) return false;
    sample_ = source_.read();
  }
  progress.finish();
  return true;
}

bool PollWalk::next() {
  if (!select_state()) return false;
  const std::int64_t before_ns = system_clock().monotonic_ns();
  const std::int64_t last_ns = sample_.time_ns;
  sample_ = source_.read();
  if (states_ != 0 && source_.remembers() && !wait_for_poll(last_ns)) return false;
  // Show what can be read; end only if nothing can.
  if (sample_.types.empty()) {
    problem_ = sample_.problem.empty() ? "there is no memory type" : sample_.problem;
    for (const std::string& line : sample_.missing) problem_ += "; " + line;
    return false;
  }
  const std::int64_t now_ns = is_capture() ? sample_.monotonic_ns : source_.remembers() ? sample_.time_ns : before_ns;
  if (states_ == 0) first_ns_ = now_ns;
  seconds_ = static_cast<double>(now_ns - first_ns_) / 1e9;
  ++states_;
  return true;
}

std::size_t first_poll_of(const std::optional<std::string>& from) {
  return from ? parse_capture_reference(*from).poll.value_or(0) : 0;
}

}  // namespace memstat::ctl
