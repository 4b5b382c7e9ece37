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
  Answer<std::unique_ptr<CounterSystem>> answer;
  auto view = make_live_kernel_view();
  if (!view) {
    answer.refused = {.refusal = Refusal::kNone, .system_errno = ENOSYS, .text = to_string(view.error())};
    return answer;
  }
  auto system = std::make_unique<LivePerfSystem>(Owner{.api = make_live_perf_events(), .view = *std::move(view)});
  auto check = system->check();
  if (check.is_given()) {
    answer.value = std::move(system);
  } else {
    answer.refused = std::move(check.refused);
  }
  return answer;
}

}  // namespace memstat::counters

#endif
