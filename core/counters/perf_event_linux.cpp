// SPDX-License-Identifier: BSD-2-Clause
// perf_event_open(2) of this machine, and its counters.
#if defined(__linux__)

#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "core/counters/perf_system.h"

namespace memstat::counters {
namespace {

class LivePerfEvents : public PerfEventApi {
 public:
  int open(const PerfEvent& event, pid_t thread, int cpu, int group) override {
    perf_event_attr attr{};
    attr.size = PERF_ATTR_SIZE_VER1;  // up to config2, supported by every kernel in use
    attr.type = event.type;
    attr.config = event.config;
    attr.config1 = event.config1;
    attr.config2 = event.config2;
    attr.sample_period = event.period;
    attr.wakeup_events = event.period == 0 ? 0 : 1;
    attr.precise_ip = event.precise;
    attr.exclude_user = event.excludes_user ? 1 : 0;
    attr.exclude_kernel = event.excludes_kernel ? 1 : 0;
    attr.exclude_hv = event.excludes_hypervisor ? 1 : 0;
    attr.disabled = event.is_disabled ? 1 : 0;
    attr.inherit = event.is_inherited ? 1 : 0;
    attr.pinned = event.is_pinned ? 1 : 0;
    attr.enable_on_exec = event.is_enabled_on_exec ? 1 : 0;
    attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    const long fd = ::syscall(SYS_perf_event_open, &attr, thread, cpu, group, PERF_FLAG_FD_CLOEXEC);
    return fd >= 0 ? static_cast<int>(fd) : -errno;
  }

  ssize_t read(int fd, std::span<std::uint64_t> words) override {
    const ssize_t size = ::read(fd, words.data(), words.size_bytes());
    return size >= 0 ? size : -errno;
  }

  int control(int fd, PerfControl what, std::uint64_t argument) override {
    const auto send = [fd](unsigned long request, auto value) { return ::ioctl(fd, request, value) == 0 ? 0 : -errno; };
    switch (what) {
      case PerfControl::kEnable: return send(PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
      case PerfControl::kDisable: return send(PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
      case PerfControl::kReset: return send(PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
      case PerfControl::kPeriod: return send(PERF_EVENT_IOC_PERIOD, &argument);
      case PerfControl::kRefresh: return send(PERF_EVENT_IOC_REFRESH, static_cast<int>(argument));
    }
    return -EINVAL;
  }

  int notify_caller(int fd) override {
    const f_owner_ex owner{.type = F_OWNER_TID, .pid = static_cast<pid_t>(::syscall(SYS_gettid))};
    // An explicitly set signal, even SIGIO, carries siginfo.
    const bool is_done = ::fcntl(fd, F_SETOWN_EX, &owner) == 0 && ::fcntl(fd, F_SETSIG, SIGIO) == 0 &&
                         ::fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK) == 0;
    return is_done ? 0 : -errno;
  }

  void close(int fd) override { ::close(fd); }
};

/// A PerfSystem that owns its access to the kernel.
struct Owner {
  std::unique_ptr<PerfEventApi> api;
  std::unique_ptr<KernelView> view;
};
class LivePerfSystem : private Owner, public PerfSystem {
 public:
  explicit LivePerfSystem(Owner owner) : Owner(std::move(owner)), PerfSystem(*api, *view) {}
};

}  // namespace

std::unique_ptr<PerfEventApi> make_live_perf_events() { return std::make_unique<LivePerfEvents>(); }

Answer<std::unique_ptr<CounterSystem>> make_counter_system() {
  auto view = make_live_kernel_view();
  if (!view) return Refused{Refusal::kNone, ENOSYS, to_string(view.error())};
  auto system = std::make_unique<LivePerfSystem>(Owner{.api = make_live_perf_events(), .view = *std::move(view)});
  if (Refused refused = system->check(); refused.system_errno != 0) return refused;
  return {.value = std::move(system)};
}

}  // namespace memstat::counters

#endif
