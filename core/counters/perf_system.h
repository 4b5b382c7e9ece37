// SPDX-License-Identifier: BSD-2-Clause
// Linux's counters: encodes event names with the kernel view, and opens sets through perf_event.h.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/counters/counter_system.h"
#include "core/counters/perf_event.h"
#include "core/kernel/kernel_view.h"

namespace memstat::counters {

/// The settings and privileges that determine whether this process may count.
struct PerfPermissions {
  std::optional<std::int64_t> paranoid;  ///< /proc/sys/kernel/perf_event_paranoid; empty: unreadable.
  bool is_capable = false;               ///< CAP_PERFMON or CAP_SYS_ADMIN is effective (CapEff of /proc/self/status).
  bool is_filtered = false;              ///< A seccomp filter is active (Seccomp in /proc/self/status).
};
PerfPermissions read_perf_permissions(KernelView& view);

/// What an errno of perf_event_open(2) means for the caller, with advice: why `request` on `target` failed with
/// `system_errno`.
Refused explain_perf_error(int system_errno, const Request& request, const Target& target,
                           const PerfPermissions& permissions);

/// Opens a counting set: groups of perf events, each read with one system call. Opens the events of `requests` for the given
/// threads (none for a CPU) and starts counting. Requests that do not fit into one group are split into several, unless the
/// target requires exactness. `api` must outlive the set.
Answer<std::unique_ptr<BoundSet>> bind_perf_set(PerfEventApi& api, std::span<const Request> requests, const Target& target,
                                                std::span<const pid_t> threads, const PerfPermissions& permissions);

/// See CounterSystem, also for thread safety. Queries the kernel (events, counters) on the first call that needs it.
class PerfSystem : public CounterSystem {
 public:
  /// Both must outlive the system and all its bindings.
  PerfSystem(PerfEventApi& api, KernelView& view);

  /// Whether this process can count at all: tries an event that every kernel has, in user mode.
  [[nodiscard]] Refused check() const;

  [[nodiscard]] const CounterFacts& facts() const override;
  [[nodiscard]] Answer<EventCode> resolve(std::string_view event, std::span<const Attribute> attributes) const override;
  Answer<std::unique_ptr<BoundSet>> bind(std::span<const Request> requests, const Target& target) override;

 private:
  [[nodiscard]] bool can_open(const EventCode& code) const;
  [[nodiscard]] unsigned count_counters() const;
  [[nodiscard]] std::string core_directory() const;
  [[nodiscard]] std::optional<Answer<EventCode>> resolve_base(std::string_view event) const;
  [[nodiscard]] std::optional<Answer<EventCode>> resolve_tracepoint(std::string_view event) const;
  [[nodiscard]] Answer<EventCode> resolve_pmu(std::string_view event) const;
  [[nodiscard]] Answer<EventCode> resolve_page_walks() const;
  [[nodiscard]] Refused apply(const Attribute& attribute, std::string_view event, EventCode& code) const;

  PerfEventApi* api_;
  KernelView* view_;
  mutable std::once_flag facts_once_;
  mutable CounterFacts facts_;
};

}  // namespace memstat::counters
