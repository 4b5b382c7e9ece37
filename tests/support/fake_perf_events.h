// SPDX-License-Identifier: BSD-2-Clause
// The kernel's perf events on a CPU with few counters: groups that do not fit are refused, groups that do not fit together
// take turns, a pinned group without a counter is in error, and an overflow stops its group. There is no clock: time passes
// in run(). The limits of a CPU are the caller's; those of real CPUs are in real_cpu_limits().
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/counters/perf_event.h"

namespace memstat::counters {

class FakePerfEvents : public PerfEventApi {
 public:
  unsigned counters = 4;             ///< Counters of a CPU.
  unsigned taken_by_others = 0;      ///< Counters taken by a pinned event of another user, such as the NMI watchdog.
  bool ignores_what_is_off = false;  ///< When it checks whether a group fits, as on arm64.
  int next_open_errno = 0;           ///< errno of the next open.
  std::map<std::pair<std::uint32_t, std::uint64_t>, int> absent;           ///< errno of events, by type and config.
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint64_t> rates;  ///< Events a ns; 1 for events missing here.
  std::vector<PerfEvent> opened;                                           ///< All opened events, in order.
  std::vector<std::pair<pid_t, int>> places;                               ///< Thread and CPU of each opened event.
  std::vector<int> signals;                                                ///< Descriptors whose overflow was notified.
  int notify_errno = 0;
  unsigned reads = 0;
  unsigned mismatched_reads = 0;  ///< How many of the next reads a child disturbs that exits.

  [[nodiscard]] std::size_t open_count() const { return events_.size(); }

  int open(const PerfEvent& event, pid_t thread, int cpu, int group) override {
    if (next_open_errno != 0) return -std::exchange(next_open_errno, 0);
    const auto missing = absent.find({event.type, event.config});
    if (missing != absent.end()) return -missing->second;
    if (group != -1 && !events_.contains(group)) return -EBADF;
    const int fd = next_fd_++;
    Event one{.event = event, .group = group == -1 ? fd : group, .is_on = !event.is_disabled || group != -1};
    if (needs_counter(event) && validated_size_of(one.group) + (is_validated(event) ? 1U : 0U) > counters) return -EINVAL;
    events_[fd] = one;
    opened.push_back(event);
    places.emplace_back(thread, cpu);
    return fd;
  }

  ssize_t read(int fd, std::span<std::uint64_t> words) override {
    ++reads;
    if (mismatched_reads > 0) {
      --mismatched_reads;
      return -ECHILD;
    }
    const Event& first = events_.at(fd);
    if (first.is_in_error) return 0;
    std::size_t size = 3;
    words[1] = first.enabled;
    words[2] = first.running;
    for (const auto& [number, event] : events_) {
      if (event.group == fd) words[size++] = event.count;
    }
    words[0] = size - 3;
    return static_cast<ssize_t>(size * sizeof words[0]);
  }

  int control(int fd, PerfControl what, std::uint64_t argument) override {
    Event& event = events_.at(fd);
    if (what == PerfControl::kEnable || what == PerfControl::kRefresh) event.is_on = true;
    if (what == PerfControl::kDisable) event.is_on = false;
    if (what == PerfControl::kRefresh) {
      if (event.event.is_inherited || event.event.period == 0) return -EINVAL;
      event.left += argument;
    }
    if (what == PerfControl::kPeriod) {
      event.event.period = argument;
      event.since_overflow = event.is_on ? argument - 1 : 0;  // one that counts overflows at its next event
    }
    return 0;
  }

  int notify_caller(int) override { return -notify_errno; }
  void close(int fd) override { events_.erase(fd); }

  /// `ns` pass, in turns of one ns; enabled events count.
  void run(std::uint64_t ns) {
    for (std::uint64_t step = 0; step < ns; ++step) {
      std::vector<int> groups;
      for (const auto& [fd, event] : events_) {
        if (event.group == fd && event.is_on) groups.push_back(fd);
      }
      if (groups.empty()) return;
      std::rotate(groups.begin(), groups.begin() + static_cast<std::ptrdiff_t>(turn_++ % groups.size()), groups.end());
      std::stable_sort(groups.begin(), groups.end(),
                       [this](int a, int b) { return events_[a].event.is_pinned > events_[b].event.is_pinned; });
      unsigned room = counters - taken_by_others;
      for (const int fd : groups) {
        Event& first = events_[fd];
        ++first.enabled;
        const unsigned size = size_of(fd);
        if (size > room) {
          first.is_in_error = first.event.is_pinned;
          continue;
        }
        room -= size;
        ++first.running;
        count(fd);
      }
    }
  }

 private:
  struct Event {
    PerfEvent event;
    int group = -1;
    bool is_on = false;
    bool is_in_error = false;
    std::uint64_t enabled = 0, running = 0, count = 0, since_overflow = 0, left = 0;
  };

  static bool needs_counter(const PerfEvent& event) { return event.type != kPerfSoftware && event.type != kPerfTracepoint; }
  [[nodiscard]] bool is_validated(const PerfEvent& event) const {
    return !ignores_what_is_off || !event.is_disabled || event.is_enabled_on_exec;
  }
  [[nodiscard]] unsigned validated_size_of(int group) const {
    unsigned size = 0;
    for (const auto& [fd, event] : events_) {
      size += event.group == group && needs_counter(event.event) && is_validated(event.event) ? 1U : 0U;
    }
    return size;
  }
  unsigned size_of(int group) const {
    unsigned size = 0;
    for (const auto& [fd, event] : events_) size += event.group == group && needs_counter(event.event) ? 1U : 0U;
    return size;
  }
  void count(int group) {
    for (auto& [fd, event] : events_) {
      if (event.group != group) continue;
      const auto rate = rates.find({event.event.type, event.event.config});
      const std::uint64_t step = rate == rates.end() ? 1 : rate->second;
      event.count += step;
      event.since_overflow += step;
      if (event.event.period == 0 || event.since_overflow < event.event.period) continue;
      event.since_overflow = 0;
      signals.push_back(fd);
      if (event.left != 0 && --event.left == 0) event.is_on = false;
    }
  }

  std::map<int, Event> events_;
  int next_fd_ = 100;
  std::size_t turn_ = 0;
};

/// How many counters a thread can have on real CPUs, from their manuals: general ones and, where the kernel uses them for
/// generic events, fixed ones.
struct CpuLimit {
  std::string cpu;
  unsigned counters;
};
inline std::vector<CpuLimit> real_cpu_limits() {
  return {{"Intel Core (general, with hyper-threads)", 4},
          {"Intel Ice Lake (general)", 8},
          {"AMD Zen (core)", 6},
          {"AMD K10", 4},
          {"Arm Cortex-A53 and A72", 6},
          {"Arm Cortex-A7", 4}};
}

}  // namespace memstat::counters
