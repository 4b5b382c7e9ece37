// SPDX-License-Identifier: BSD-2-Clause
// What counts events on one system, and the only thing that the C API of libcpc.h knows of it. Implementations:
// perf_system.h (Linux, over perf_event.h), pmc_freebsd.cpp (hwpmc).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace memstat::counters {

/// Why a request or a binding was refused: the sub-codes of libcpc.h, by number.
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

/// A refusal with errno and a text for people, which names the event and what to do.
struct Refused {
  Refusal refusal = Refusal::kNone;
  int system_errno = 0;
  std::string text;
};

/// A value, or why there is none. Thread safety: a plain value.
template <typename T>
struct [[nodiscard]] Answer {
  T value{};
  Refused refused{};  ///< Of an answer without a value.
  [[nodiscard]] bool is_given() const { return refused.system_errno == 0; }
};
struct Nothing {};

/// One attribute of a request.
struct Attribute {
  std::string name;
  std::uint64_t value = 0;
};

/// An event as the system numbers it; what the fields mean is the business of the CounterSystem.
struct EventCode {
  std::uint32_t type = 0;
  std::uint64_t config = 0;
  std::uint64_t config1 = 0;
  std::uint64_t config2 = 0;
  std::uint8_t precise = 0;    ///< 0: an overflow is seen some instructions later; up to 3: at the instruction.
  bool needs_counter = false;  ///< Whether a physical counter is taken.
};

/// One event to count.
struct Request {
  std::string event;
  std::uint64_t preset = 0;
  bool counts_user = true;
  bool counts_system = true;
  bool counts_hypervisor = false;
  bool notifies = false;  ///< The thread gets a signal when preset + events passes 2^64.
  std::vector<Attribute> attributes;
  EventCode code;
};

/// What to count.
struct Target {
  enum class Kind : std::uint8_t { kCurrentThread, kThread, kProcess, kCpu };
  Kind kind = Kind::kCurrentThread;
  pid_t process = 0;            ///< Of kThread and kProcess.
  pid_t thread = 0;             ///< Of kThread: one of that process.
  int cpu = -1;                 ///< Of kCpu.
  bool is_inherited = false;    ///< Threads and processes begun later are counted as well.
  bool is_exact = false;        ///< Refused rather than counted by turns.
  bool begins_at_exec = false;  ///< Counts from the next exec of the thread on.
};

/// One request's part of a sample.
struct Count {
  std::uint64_t value = 0;  ///< Preset and events since the binding or restart, those scaled where running_ns < enabled_ns.
  std::uint64_t enabled_ns = 0;  ///< In which it was to count.
  std::uint64_t running_ns = 0;  ///< In which it did.
};

/// A set that counts; stops counting when it goes. Thread safety: none; one thread at a time. sample, restart and enable
/// return an errno (0: done) instead of a text: they may run in a signal handler.
class BoundSet {
 public:
  BoundSet() = default;
  BoundSet(const BoundSet&) = delete;
  BoundSet& operator=(const BoundSet&) = delete;
  virtual ~BoundSet() = default;
  /// Fills as many counts as the set has requests, in their order; `ticks` is the longest time in which one of them counted.
  /// EAGAIN: an exact set that the system took off.
  virtual int sample(std::span<Count> counts, std::uint64_t& ticks) = 0;
  /// As sample, with values as they were counted, not scaled: for those who scale what came since their last sample. Where
  /// nothing is counted by turns there is no difference.
  virtual int sample_unscaled(std::span<Count> counts, std::uint64_t& ticks) { return sample(counts, ticks); }
  /// Goes on, or stops and keeps what was counted.
  virtual int enable(bool is_on) = 0;
  /// Begins again from the presets; `requests` are those of the binding, with presets that may have changed.
  virtual int restart(std::span<const Request> requests) = 0;
};

/// One event for people.
struct EventInfo {
  std::string name;
  std::string description;
  bool needs_counter = false;
};

/// The counters of this machine. Thread safety: as a constant, once made.
class CounterSystem {
 public:
  CounterSystem() = default;
  CounterSystem(const CounterSystem&) = delete;
  CounterSystem& operator=(const CounterSystem&) = delete;
  virtual ~CounterSystem() = default;

  [[nodiscard]] virtual unsigned counter_count() const = 0;
  [[nodiscard]] virtual bool can_notify() const = 0;
  [[nodiscard]] virtual bool is_precise() const = 0;
  [[nodiscard]] virtual const std::string& name() const = 0;       ///< For people: what counts.
  [[nodiscard]] virtual const std::string& reference() const = 0;  ///< For people: where events are described.
  [[nodiscard]] virtual std::span<const EventInfo> events() const = 0;
  [[nodiscard]] virtual std::span<const std::string> attributes() const = 0;
  /// The number of an event with its attributes.
  [[nodiscard]] virtual Answer<EventCode> resolve(std::string_view event, std::span<const Attribute> attributes) const = 0;
  /// Begins to count. `requests` is not empty and resolved.
  virtual Answer<std::unique_ptr<BoundSet>> bind(std::span<const Request> requests, const Target& target) = 0;
};

/// This machine's counters.
Answer<std::unique_ptr<CounterSystem>> make_counter_system();

}  // namespace memstat::counters
