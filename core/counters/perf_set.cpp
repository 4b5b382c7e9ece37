// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <numeric>
#include <thread>

#include "core/counters/perf_system.h"

namespace memstat::counters {
namespace {

constexpr std::size_t kHead = 3;         // words before the counts: how many events, ns enabled, ns running
constexpr std::size_t kMaxInGroup = 64;  // more than any CPU's counters
constexpr int kTriesOfRead = 500;
constexpr std::chrono::milliseconds kBetweenTries{1};

/// Events until the signal: the distance from the preset to 2^64. The kernel accepts periods below 2^63; longer ones
/// are never reached.
std::uint64_t period_of(std::uint64_t preset) {
  constexpr std::uint64_t kMaxPeriod = ~std::uint64_t{0} >> 1U;
  const std::uint64_t distance = std::uint64_t{0} - preset;
  return distance == 0 || distance > kMaxPeriod ? kMaxPeriod : distance;
}

/// The result of reading a group, or an errno.
struct Reading {
  int system_errno = 0;
  std::array<std::uint64_t, kHead + kMaxInGroup> words;
};

class PerfSet : public BoundSet {
 public:
  explicit PerfSet(PerfEventApi& api) : api_(&api) {}
  ~PerfSet() override {
    // Siblings first: if a group's first event is closed, the others become separate events.
    for (auto group = groups_.rbegin(); group != groups_.rend(); ++group) {
      for (auto event = group->events.rbegin(); event != group->events.rend(); ++event) api_->close(event->fd);
    }
  }

  int sample(std::span<Count> counts, std::uint64_t& ticks) override { return sample_as<true>(counts, ticks); }
  int sample_unscaled(std::span<Count> counts, std::uint64_t& ticks) override { return sample_as<false>(counts, ticks); }

  int enable(bool is_on) override {
    Reading reading;
    for (const Group& group : groups_) {
      // A set stopped by an overflow stays stopped until a restart.
      if (is_on && group.notifies && (!read(group, reading) || is_spent(group, reading))) {
        if (reading.system_errno != 0) return reading.system_errno;
        continue;
      }
      const int error = api_->control(group.first(), is_on ? PerfControl::kEnable : PerfControl::kDisable, 0);
      if (error != 0) return -error;
    }
    return 0;
  }

  int restart(std::span<const Request> requests) override {
    Reading reading;
    for (Group& group : groups_) {
      // A period started while the event counts would overflow at once.
      if (group.notifies) {
        if (const int error = api_->control(group.first(), PerfControl::kDisable, 0); error != 0) return -error;
      }
      if (!read(group, reading)) return reading.system_errno;
      const bool was_spent = is_spent(group, reading);
      // The kernel can reset a count, but not the parts from ended threads. So remember the current value.
      group.enabled_before = reading.words[1];
      group.running_before = reading.words[2];
      for (std::size_t i = 0; i < group.events.size(); ++i) {
        group.events[i].before = reading.words[kHead + i];
        group.events[i].preset = requests[group.events[i].request].preset;
      }
      if (!group.notifies) continue;
      group.period = period_of(requests[group.events.front().request].preset);
      int error = api_->control(group.first(), PerfControl::kPeriod, group.period);
      // The kernel adds up the remaining overflows to signal.
      if (error == 0) error = was_spent ? begin(group) : api_->control(group.first(), PerfControl::kEnable, 0);
      if (error != 0) return -error;
    }
    return 0;
  }

  /// Opens all events on a thread or CPU. Returns an errno and the request that failed.
  struct Failure {
    int system_errno = 0;
    std::size_t request = 0;
  };
  Failure open(std::span<const Request> requests, const Target& target, pid_t thread) {
    std::size_t current = groups_.size();  // the group for the next requests
    const bool is_first = groups_.empty();
    // Requests that stop the set on overflow come first: an event that stops also stops the later ones in its group.
    std::vector<std::size_t> order(requests.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_partition(order.begin(), order.end(), [&](std::size_t i) { return requests[i].notifies; });
    for (const std::size_t i : order) {
      if (!requests[i].notifies && current < groups_.size()) {
        const int error = join(requests, i, target, thread, groups_[current]);
        if (error == 0) continue;
        if (error != EINVAL || target.is_exact) return {.system_errno = error, .request = i};
        current = groups_.size();  // it is full
      }
      if (const int error = open_group(requests, i, target, thread); error != 0)
        return {.system_errno = error, .request = i};
    }
    if (is_first) first_groups_ = groups_.size();
    is_in_order_ = groups_.size() == 1;
    for (std::size_t i = 0; i < groups_.front().events.size(); ++i) {
      is_in_order_ = is_in_order_ && groups_.front().events[i].request == i;
    }
    return {};
  }

  /// Starts all groups.
  int begin() {
    for (const Group& group : groups_) {
      if (const int error = begin(group); error != 0) return -error;
    }
    return 0;
  }

 private:
  struct Event {
    int fd = -1;
    std::size_t request = 0;
    std::uint64_t before = 0;  // its count at the last restart
    std::uint64_t preset = 0;  // the preset at that time
  };
  struct Group {
    std::vector<Event> events;
    std::uint64_t enabled_before = 0;
    std::uint64_t running_before = 0;
    std::uint64_t period = 0;  // events until the signal
    bool notifies = false;
    [[nodiscard]] int first() const { return events.front().fd; }
  };

  static PerfEvent event_of(const Request& request, const Target& target, bool is_first) {
    return {.type = request.code.type,
            .config = request.code.config,
            .config1 = request.code.config1,
            .config2 = request.code.config2,
            .period = request.notifies ? period_of(request.preset) : 0,
            .precise = request.code.precise,
            .excludes_user = !request.counts_user,
            .excludes_kernel = !request.counts_system,
            .excludes_hypervisor = !request.counts_hypervisor,
            .is_disabled = is_first,
            .is_inherited = target.is_inherited,
            .is_pinned = is_first && target.is_exact,
            // On arm64, the check whether a group fits ignores events that are disabled and not enabled on exec.
            .is_enabled_on_exec = is_first};
  }

  int open_group(std::span<const Request> requests, std::size_t index, const Target& target, pid_t thread) {
    groups_.emplace_back();
    const int error = join(requests, index, target, thread, groups_.back());
    if (error != 0) {
      for (const Event& event : groups_.back().events) api_->close(event.fd);
      groups_.pop_back();
    }
    return error;
  }

  int join(std::span<const Request> requests, std::size_t index, const Target& target, pid_t thread, Group& group) {
    if (group.events.size() == kMaxInGroup) return EINVAL;
    const bool is_first = group.events.empty();
    const bool is_cpu = target.kind == Target::Kind::kCpu;
    group.events.reserve(group.events.size() + 1);  // so that the descriptor cannot leak
    const int fd = api_->open(event_of(requests[index], target, is_first), is_cpu ? -1 : thread, is_cpu ? target.cpu : -1,
                              is_first ? -1 : group.first());
    if (fd < 0) return -fd;
    group.events.push_back({.fd = fd, .request = index, .preset = requests[index].preset});
    if (!requests[index].notifies) return 0;
    group.notifies = true;
    group.period = period_of(requests[index].preset);
    return -api_->notify_caller(fd);
  }

  /// Only copies if the set is one group in the order of its requests and ran all the time, as usual. `kIsScaled`: scale
  /// multiplexed values.
  template <bool kIsScaled>
  int sample_as(std::span<Count> counts, std::uint64_t& ticks) {
    Reading reading;
    if (!is_in_order_) return sample_groups<kIsScaled>(counts, ticks, reading);
    const Group& group = groups_.front();
    ticks = 0;
    if (!read(group, reading)) return reading.system_errno;
    const std::uint64_t enabled = reading.words[1] - group.enabled_before;
    const std::uint64_t running = reading.words[2] - group.running_before;
    ticks = running;
    const std::uint64_t* word = reading.words.data() + kHead;
    Count* count = counts.data();
    if (!kIsScaled || running >= enabled || running == 0) {
      for (const Event& event : group.events) {
        *count++ = {.value = event.preset + (*word++ - event.before), .enabled_ns = enabled, .running_ns = running};
      }
    } else {
      for (const Event& event : group.events) {
        *count++ = {.value = event.preset + extrapolated(*word++ - event.before, enabled, running),
                    .enabled_ns = enabled,
                    .running_ns = running};
      }
    }
    return 0;
  }

  template <bool kIsScaled>
  int sample_groups(std::span<Count> counts, std::uint64_t& ticks, Reading& reading) {
    ticks = 0;
    for (std::size_t number = 0; number < groups_.size(); ++number) {
      const Group& group = groups_[number];
      if (!read(group, reading)) return reading.system_errno;
      const std::uint64_t enabled = reading.words[1] - group.enabled_before;
      const std::uint64_t running = reading.words[2] - group.running_before;
      const bool is_of_first = number < first_groups_;
      for (std::size_t i = 0; i < group.events.size(); ++i) {
        const Event& event = group.events[i];
        const std::uint64_t counted = reading.words[kHead + i] - event.before;
        const std::uint64_t value = kIsScaled ? extrapolated(counted, enabled, running) : counted;
        Count& count = counts[event.request];
        if (is_of_first) {
          count = {.value = event.preset + value, .enabled_ns = enabled, .running_ns = running};
        } else {
          count.value += value;
          count.enabled_ns += enabled;
          count.running_ns += running;
        }
      }
      ticks = std::max(ticks, running);
    }
    if (first_groups_ == groups_.size()) return 0;
    for (const Count& count : counts) ticks = std::max(ticks, count.running_ns);
    return 0;
  }

  /// Continues a group, until its next overflow if that is signaled. Returns 0 or -errno.
  int begin(const Group& group) {
    return group.notifies ? api_->control(group.first(), PerfControl::kRefresh, 1)
                          : api_->control(group.first(), PerfControl::kEnable, 0);
  }

  /// Whether the overflow to be signaled has occurred and stopped the group.
  static bool is_spent(const Group& group, const Reading& reading) {
    return group.notifies && reading.words[kHead] - group.events.front().before >= group.period;
  }

  bool read(const Group& group, Reading& reading) {
    const std::size_t wanted = (kHead + group.events.size()) * sizeof(std::uint64_t);
    ssize_t size = api_->read(group.first(), reading.words);
    // A child that exits is taken from its parent's groups one event at a time, and a read meanwhile is refused: Linux
    // commit 32671e3799ca ("perf: Disallow mis-matched inherited group reads") (v6.6).
    // On a busy machine the child may have to wait for a CPU meanwhile.
    for (int tries = 0; size == -ECHILD && tries < kTriesOfRead; ++tries) {
      if (tries != 0) std::this_thread::sleep_for(kBetweenTries);
      size = api_->read(group.first(), reading.words);
    }
    reading.system_errno = size < 0 ? static_cast<int>(-size) : size == 0 ? EAGAIN : 0;
    if (reading.system_errno != 0) return false;
    if (static_cast<std::size_t>(size) != wanted || reading.words[0] != group.events.size()) reading.system_errno = EIO;
    return reading.system_errno == 0;
  }

  PerfEventApi* api_;
  std::vector<Group> groups_;
  std::size_t first_groups_ = 0;  // number of groups of the first thread
  bool is_in_order_ = false;      // one group, with events in the order of requests
};

}  // namespace

Answer<std::unique_ptr<BoundSet>> bind_perf_set(PerfEventApi& api, std::span<const Request> requests, const Target& target,
                                                std::span<const pid_t> threads, const PerfPermissions& permissions) {
  auto set = std::make_unique<PerfSet>(api);
  std::size_t opened = 0;
  PerfSet::Failure failure;
  constexpr pid_t kCaller[] = {0};
  for (const pid_t thread : threads.empty() ? std::span<const pid_t>(kCaller) : threads) {
    PerfSet::Failure of_thread = set->open(requests, target, thread);
    if (of_thread.system_errno == 0) {
      ++opened;
      continue;
    }
    failure = of_thread;
    // Ignore a thread that ended since the list was made.
    if (failure.system_errno != ESRCH || target.kind != Target::Kind::kProcess) break;
  }
  if (failure.system_errno != 0 && (failure.system_errno != ESRCH || opened == 0)) {
    return explain_perf_error(failure.system_errno, requests[failure.request], target, permissions);
  }
  if (const int error = target.begins_at_exec ? 0 : set->begin(); error != 0) {
    return explain_perf_error(error, requests.front(), target, permissions);
  }
  return {.value = std::move(set)};
}

}  // namespace memstat::counters
