// SPDX-License-Identifier: BSD-2-Clause
// The counters of all CPUs as a text table, for the source cpu_counters. A set on a CPU is read with one system call.
//
//   cpu 0 set memory enabled_ns 10000214 running_ns 10000214 minor-faults 17 81355 major-faults 0 12
//   left_out EVENT: why              an event that the machine lacks
//   end N                            the number of records
//
// Times and an event's first number are since the previous read. The second number is the total, scaled if the times differ.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/counters/counter_system.h"
#include "core/counters/event_names.h"
#include "core/kernel/kernel_view.h"

namespace memstat::counters {

/// The path in the table's errors.
inline constexpr std::string_view kCounterOrigin = "perf_event_open";

/// Counts from open() on. Each read adds the increase since the last one to the totals, scaled if it was multiplexed.
/// Errors of open and read: kNotPresent (no set is configured, none of the events exists here, or no perf events),
/// kPermission, kIo, with advice.
class CounterTable final : public TextTableSource {
 public:
  using MakeSystem = std::function<Answer<std::unique_ptr<CounterSystem>>()>;

  explicit CounterTable(std::vector<CounterSet> sets, MakeSystem make_system = make_counter_system);

  /// Sets the online CPUs, in the kernel's notation. The next read closes the sets of CPUs that went offline and, if
  /// the process is still permitted to, opens those of new ones. Must be called once before open().
  void set_online(std::string_view list);

  Result<void> open() override;
  /// First opens what open() could not.
  Result<void> read(Buffer& out) override;

 private:
  struct Set {
    CounterSet wanted;
    std::vector<Request> requests;  // for the events that this machine has
  };
  struct OnCpu {
    std::uint32_t cpu = 0;
    std::size_t set = 0;
    std::unique_ptr<BoundSet> bound;  // null: the CPU is offline, or it was refused
    std::string refused;              // why it is not bound although the CPU is online
    std::vector<Count> before;
    std::vector<Count> now;
    std::vector<std::uint64_t> totals;
  };

  Refused try_events(std::uint32_t cpu);
  Refused bind(OnCpu& place);
  Refused bind_online();
  void write(const OnCpu& place, Buffer& out);
  void count(OnCpu& place);

  std::vector<CounterSet> wanted_;
  MakeSystem make_system_;
  std::unique_ptr<CounterSystem> system_;
  std::vector<Set> sets_;
  std::vector<std::string> left_out_;  // as lines of the table
  std::vector<OnCpu> places_;          // by CPU, then in the order of sets
  std::string online_;
  bool has_new_online_ = false;
  bool is_open_ = false;
};

}  // namespace memstat::counters
