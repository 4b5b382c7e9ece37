// SPDX-License-Identifier: BSD-2-Clause
// The event counters of an operating system; all that the C API of libcpc.h uses. Implementations: perf_system.h
// (Linux, through perf_event.h), pmc_freebsd.cpp (hwpmc).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/not_copyable.h"
#include "core/base/result.h"

namespace memstat::counters {

/// Extrapolates `count` to all of `enabled`. If both times are 0 or equal, it is exact.
inline std::uint64_t extrapolated(std::uint64_t count, std::uint64_t enabled, std::uint64_t running) {
  if (running >= enabled || running == 0) return count;
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>(static_cast<Wide>(count) * enabled / running);
}

/// Why a request or a binding was refused: the sub-codes of libcpc.h.
enum class Refusal : int {
  kNone = -1,
  kInvalidEvent = 1,
  kInvalidCounter = 2,
  kInvalidAttribute = 3,
  kAttributeOutOfRange = 4,
  kResourceUnavailable = 5,
  kNotCapable = 6,
  kInvalidFlags = 7,
  kConflictingRequests = 8,
  kPermission = 9,
  kNoCpu = 10,
  kNoHypervisor = 11,
};

template <typename T>
struct Answer;

/// A refusal with errno and a message that names the event and a remedy.
struct Refused {
  Refusal refusal = Refusal::kNone;
  int system_errno = 0;  ///< 0: not refused.
  std::string text;

  /// The answer to any question.
  template <typename T>
  operator Answer<T>() const {  // NOLINT(google-explicit-constructor)
    return {.value = {}, .refused = *this};
  }
};

/// A value, or a refusal.
template <typename T>
struct [[nodiscard]] Answer {
  T value{};
  Refused refused{};  ///< If there is no value.
  [[nodiscard]] bool is_given() const { return refused.system_errno == 0; }
};

/// An attribute of a request.
struct Attribute {
  std::string name;
  std::uint64_t value = 0;
};

/// An event's encoding. The meaning of the fields is up to the CounterSystem.
struct EventCode {
  std::uint32_t type = 0;
  std::uint64_t config = 0;
  std::uint64_t config1 = 0;
  std::uint64_t config2 = 0;
  std::uint8_t precise = 0;    ///< 0: an overflow is noticed a few instructions later; up to 3: at the instruction.
  bool needs_counter = false;  ///< Whether it occupies a physical counter.
};

/// An event to count.
struct Request {
  std::string event;
  std::uint64_t preset = 0;
  bool counts_user = true;
  bool counts_system = true;
  bool counts_hypervisor = false;
  bool notifies = false;  ///< Signals the thread when preset + events exceeds 2^64.
  std::vector<Attribute> attributes;
  EventCode code;
};

/// The threads or the CPU whose events are counted.
struct Target {
  enum class Kind : std::uint8_t { kCurrentThread, kThread, kProcess, kCpu };
  Kind kind = Kind::kCurrentThread;
  pid_t process = 0;            ///< For kThread and kProcess.
  pid_t thread = 0;             ///< For kThread: a thread of that process.
  int cpu = -1;                 ///< For kCpu.
  bool is_inherited = false;    ///< Also counts threads and processes created later.
  bool is_exact = false;        ///< Refuse rather than multiplex.
  bool begins_at_exec = false;  ///< Counts from the thread's next exec on.
};

/// A request's count in a sample.
struct Count {
  std::uint64_t value = 0;       ///< Preset plus events since the binding or restart; scaled if running_ns < enabled_ns.
  std::uint64_t enabled_ns = 0;  ///< Time in which it was enabled.
  std::uint64_t running_ns = 0;  ///< Time in which it was counted.
};

/// A counting set; stops when it is destroyed. sample, restart and enable return an errno (0: success), because they may run
/// in a signal handler.
class BoundSet : public Interface {
 public:
  /// Returns the counts in the order of the requests; `ticks` is the longest time that one of them counted. EAGAIN: an
  /// exact set that the system has removed from the hardware.
  virtual int sample(std::span<Count> counts, std::uint64_t& ticks) = 0;
  /// Like sample(), but unscaled, for callers that scale the increase since their last sample. Same if nothing is
  /// multiplexed.
  virtual int sample_unscaled(std::span<Count> counts, std::uint64_t& ticks) { return sample(counts, ticks); }
  /// Continues, or stops and keeps the counts.
  virtual int enable(bool is_on) = 0;
  /// Restarts from the presets; `requests` are those of the binding, with possibly different presets.
  virtual int restart(std::span<const Request> requests) = 0;
};

/// An event for display.
struct EventInfo {
  std::string name;
  std::string description;
  bool needs_counter = false;
};

/// The counters and events of a machine.
struct CounterFacts {
  unsigned counters = 0;    ///< Of the CPU.
  bool can_notify = false;  ///< Of overflows.
  bool is_precise = false;
  std::string name;       ///< For display: what counts.
  std::string reference;  ///< For display: where events are documented.
  std::vector<EventInfo> events;
  std::vector<std::string> attributes;
};

/// The counters of this machine. Thread safety: as a constant, once created.
class CounterSystem : public Interface {
 public:
  [[nodiscard]] virtual const CounterFacts& facts() const = 0;
  /// The encoding of an event with its attributes.
  [[nodiscard]] virtual Answer<EventCode> resolve(std::string_view event, std::span<const Attribute> attributes) const = 0;
  /// Starts counting. `requests` must be resolved and not empty.
  virtual Answer<std::unique_ptr<BoundSet>> bind(std::span<const Request> requests, const Target& target) = 0;
};

/// This machine's counters.
Answer<std::unique_ptr<CounterSystem>> make_counter_system();

}  // namespace memstat::counters
