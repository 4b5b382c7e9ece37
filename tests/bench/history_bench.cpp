// SPDX-License-Identifier: BSD-2-Clause
// The cost of the history in a poll, and its memory after a day, with N types, a tenth of which change at each poll.
// Targets: at most 1 % of a poll (memstat_poll_duration_seconds of this machine), and 2 MB for 300 types, which have 1500
// series at the default settings.
#include <benchmark/benchmark.h>

#include "daemon/snapshot/history.h"

namespace memstat {
namespace {

constexpr std::int64_t kInterval = 10'000'000'000;
constexpr int kPollsOfADay = 8640;

/// One poll of `types` types.
void poll(History& history, std::uint32_t types, std::int64_t number) {
  history.begin(number * kInterval, number * kInterval);
  for (std::uint32_t type = 0; type < types; ++type) {
    const auto changed = static_cast<std::uint64_t>((number + type) / 10);
    history.add(type, HistoryFigure::kAmount, (1000 + changed % 100) * 4096 * (type % 50 + 1));
    history.add(type, HistoryFigure::kFailures, 0);
    history.add(type, HistoryFigure::kLimitHits, 0);
  }
  history.finish();
}

void history_poll(benchmark::State& state) {
  const auto types = static_cast<std::uint32_t>(state.range(0));
  History history;
  std::int64_t number = 0;
  for (; number < kPollsOfADay; ++number) poll(history, types, number);
  for (auto unused : state) poll(history, types, ++number);
  state.counters["bytes"] = static_cast<double>(history.bytes());
  const auto points = history.points(0, HistoryFigure::kAmount);
  state.counters["points"] = static_cast<double>(points.size());
  state.counters["hours"] = static_cast<double>(points.back().time_ns - points.front().time_ns) / 3.6e12;
}
BENCHMARK(history_poll)->Arg(300)->Arg(1500)->Unit(benchmark::kMicrosecond);

void history_overview(benchmark::State& state) {
  const auto types = static_cast<std::uint32_t>(state.range(0));
  History history;
  for (std::int64_t number = 0; number < kPollsOfADay; ++number) poll(history, types, number);
  for (auto unused : state) benchmark::DoNotOptimize(history.overview(3600, 30));
}
BENCHMARK(history_overview)->Arg(300)->Arg(1500)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace memstat

BENCHMARK_MAIN();
