// SPDX-License-Identifier: BSD-2-Clause
// The cost of findings in a poll of this machine: evidence and causes alone, and the whole poll. Figure: at most 3 % of it.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <utility>

#include "core/base/clock.h"
#include "core/kernel/open_view.h"
#include "daemon/poll/poller.h"
#include "daemon/snapshot/evidence_builder.h"

namespace memstat {
namespace {

constexpr std::int64_t kStep = 10'000'000'000;

Config without_events() {
  Config config;
  config.events_mode = EventsMode::kOff;
  return config;
}

std::shared_ptr<KernelView> live_view() {
  auto opened = open_view(std::string(kLiveReference));
  return std::move(opened->view);
}

struct Polled {
  Polled() : view(live_view()), poller(view, clock, metrics, pool, without_events(), Poller::Options{.log = {}}) {
    poller.open_sources();
    for (int i = 0; i < 5; ++i) poll();
  }
  void poll() { (void)poller.poll(now_ns += kStep); }

  SystemClock clock;
  SelfMetrics metrics{"bench"};
  SnapshotPool pool;
  std::shared_ptr<KernelView> view;
  Poller poller;
  std::int64_t now_ns = 0;
};

void findings_poll(benchmark::State& state) {
  Polled polled;
  for (auto unused : state) polled.poll();
}
BENCHMARK(findings_poll)->MeasureProcessCPUTime()->Unit(benchmark::kMicrosecond);

/// Only findings, of the same snapshot.
void findings_alone(benchmark::State& state) {
  Polled polled;
  EvidenceBuilder builder;
  Findings findings;
  std::int64_t now_ns = 0;
  const auto snapshot = polled.pool.current();
  for (auto unused : state) {
    builder.update(*snapshot, {}, now_ns += kStep);
    find_causes(builder.current()->evidence, findings);
  }
  state.counters["findings"] = static_cast<double>(findings.size());
  state.counters["samples"] = static_cast<double>(builder.current()->evidence.metrics.size());
}
BENCHMARK(findings_alone)->MeasureProcessCPUTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace memstat

BENCHMARK_MAIN();
