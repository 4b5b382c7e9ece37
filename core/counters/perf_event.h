// SPDX-License-Identifier: BSD-2-Clause
// Access to Linux's perf events (perf_event_open(2), include/uapi/linux/perf_event.h), small enough to be replaced in
// tests. Implementations: perf_event_linux.cpp, and a double in tests/support that replays answers of real CPUs.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <span>

#include "core/base/not_copyable.h"

namespace memstat::counters {

// Types of events: enum perf_type_id. Numbers from 6 on are assigned by the kernel, one per PMU, in
// /sys/bus/event_source/devices.
inline constexpr std::uint32_t kPerfHardware = 0;
inline constexpr std::uint32_t kPerfSoftware = 1;
inline constexpr std::uint32_t kPerfTracepoint = 2;
inline constexpr std::uint32_t kPerfCache = 3;
inline constexpr std::uint32_t kPerfRaw = 4;

/// An event for perf_event_open(). Everything is off by default.
struct PerfEvent {
  std::uint32_t type = kPerfSoftware;
  std::uint64_t config = 0;
  std::uint64_t config1 = 0;
  std::uint64_t config2 = 0;
  std::uint64_t period = 0;  ///< Events until the signal, below 2^63; 0: no signal.
  std::uint8_t precise = 0;
  bool excludes_user = false;
  bool excludes_kernel = false;
  bool excludes_hypervisor = false;
  bool is_disabled = false;   ///< Does not count until it is enabled.
  bool is_inherited = false;  ///< Also counts threads and processes created later.
  bool is_pinned = false;     ///< Always on the hardware, or in error state.
  bool is_enabled_on_exec = false;
};

/// Commands for a descriptor; on a group's first event they apply to the group.
enum class PerfControl : std::uint8_t {
  kEnable,
  kDisable,
  kReset,    ///< Resets the count, but not the times.
  kPeriod,   ///< Starts a period of `argument` events.
  kRefresh,  ///< Continues for `argument` more overflows, which then stop it and send the signal.
};

/// Thread safety: that of the kernel. read and control do not allocate and may run in a signal handler.
class PerfEventApi : public Interface {
 public:
  /// Returns a descriptor, or -errno. `thread` 0: the calling thread, -1: any; `cpu` -1: any; `group` -1: the first
  /// event of a new one. A read of a group's first event returns: number of events, ns enabled, ns running, then the
  /// counts in the order of opening.
  virtual int open(const PerfEvent& event, pid_t thread, int cpu, int group) = 0;
  /// Returns the bytes read into `words`, or -errno. 0: a pinned group in error state.
  virtual ssize_t read(int fd, std::span<std::uint64_t> words) = 0;
  /// Returns 0 or -errno.
  virtual int control(int fd, PerfControl what, std::uint64_t argument) = 0;
  /// Sends SIGIO to the calling thread on an overflow of the event. Returns 0 or -errno.
  virtual int notify_caller(int fd) = 0;
  virtual void close(int fd) = 0;
};

/// This machine's kernel.
std::unique_ptr<PerfEventApi> make_live_perf_events();

}  // namespace memstat::counters
