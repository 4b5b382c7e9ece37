// SPDX-License-Identifier: BSD-2-Clause
// The counters of this machine on Linux.
#include "core/counters/counter_system.h"

#if defined(__linux__)

#include <cerrno>

#include "core/counters/perf_system.h"

namespace memstat::counters {
namespace {

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

Answer<std::unique_ptr<CounterSystem>> make_counter_system() {
  auto view = make_live_kernel_view();
  if (!view) return Refused{Refusal::kNone, ENOSYS, to_string(view.error())};
  auto system = std::make_unique<LivePerfSystem>(Owner{.api = make_live_perf_events(), .view = *std::move(view)});
  if (Refused refused = system->check(); refused.system_errno != 0) return refused;
  return {.value = std::move(system)};
}

}  // namespace memstat::counters

#endif
