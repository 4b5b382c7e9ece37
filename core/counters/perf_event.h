// SPDX-License-Identifier: BSD-2-Clause
// The door to Linux's perf events (perf_event_open(2), include/uapi/linux/perf_event.h): small enough for a test to answer
// in the kernel's place. Implementations: perf_event_linux.cpp, and a double in tests/support that replays answers of real
// CPUs.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace memstat::counters {

// Types of events: enum perf_type_id. Numbers from 6 on are the kernel's own, one a PMU, in /sys/bus/event_source/devices.
inline constexpr std::uint32_t kPerfHardware = 0;
inline constexpr std::uint32_t kPerfSoftware = 1;
inline constexpr std::uint32_t kPerfTracepoint = 2;
inline constexpr std::uint32_t kPerfCache = 3;
inline constexpr std::uint32_t kPerfRaw = 4;

/// One event as perf_event_open takes it. All is off unless set.
struct PerfEvent {
  std::uint32_t type = kPerfSoftware;
  std::uint64_t config = 0;
  std::uint64_t config1 = 0;
  std::uint64_t config2 = 0;
  std::uint64_t period = 0;  ///< Events until the signal; 0: none is wanted. Below 2^63.
  std::uint8_t precise = 0;
  bool excludes_user = false;
  bool excludes_kernel = false;
  bool excludes_hypervisor = false;
  bool is_disabled = false;   ///< Does not count until it is told to.
  bool is_inherited = false;  ///< Threads and processes begun later count into it.
  bool is_pinned = false;     ///< Always on the hardware, or in error.
  bool is_enabled_on_exec = false;
};

/// What a descriptor can be told; of a group's first event it holds for the group.
enum class PerfControl : std::uint8_t {
  kEnable,
  kDisable,
  kReset,    ///< The count is 0; the times go on.
  kPeriod,   ///< Begins a period of `argument` events.
  kRefresh,  ///< Goes on until `argument` overflows more, which stop it and send the signal.
};

/// Thread safety: none that the kernel does not give. read and control allocate nothing and may run in a signal handler.
class PerfEventDoor {
 public:
  PerfEventDoor() = default;
  PerfEventDoor(const PerfEventDoor&) = delete;
  PerfEventDoor& operator=(const PerfEventDoor&) = delete;
  virtual ~PerfEventDoor() = default;

  /// A descriptor, or -errno. `thread` 0: the calling one, -1: any; `cpu` -1: any; `group` -1: the first of a new one. Reads
  /// of a group's first event give: how many events, ns enabled, ns running, the count of each in the order of opening.
  virtual int open(const PerfEvent& event, pid_t thread, int cpu, int group) = 0;
  /// Bytes read into `words`, or -errno. 0: a pinned group in error.
  virtual ssize_t read(int fd, std::span<std::uint64_t> words) = 0;
  /// 0 or -errno.
  virtual int control(int fd, PerfControl what, std::uint64_t argument) = 0;
  /// Sends SIGIO to the calling thread when the event overflows. 0 or -errno.
  virtual int notify_caller(int fd) = 0;
  virtual void close(int fd) = 0;
};

/// This machine's kernel.
std::unique_ptr<PerfEventDoor> make_live_perf_events();

}  // namespace memstat::counters
