// SPDX-License-Identifier: BSD-2-Clause
// Rendering 100 000 series as text against prometheus-cpp's Collect and TextSerializer on the same data.
// Figures: prometheus_cpp / ours at least 50, ours / copy (the page by memcpy) at most 2.
#include <benchmark/benchmark.h>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "daemon/exposition/exposition.h"
#include "tests/bench/many_types.h"

namespace memstat {
namespace {

constexpr std::size_t kTypes = 10'000;  // ten series each

/// Tracked and built once.
struct Data {
  ManyTypes types{kTypes};
  RenderedSnapshot snapshot;
  Data() { types.build(snapshot); }
};

Data& data() {
  static Data instance;
  return instance;
}

void ours(benchmark::State& state) {
  RenderedSnapshot& snapshot = data().snapshot;
  for (auto unused : state) {
    prepare_pages({.tier = Tier::kFull}, snapshot);
    benchmark::DoNotOptimize(page_of(snapshot, kFallbackFormat).data());
  }
  state.counters["series"] = static_cast<double>(snapshot.series);
  state.counters["bytes"] = static_cast<double>(page_of(snapshot, kFallbackFormat).size());
}
BENCHMARK(ours)->Unit(benchmark::kMicrosecond);

/// The other formats, for information: they are rendered on request.
void other_format(benchmark::State& state, ExpositionFormat format) {
  Buffer page;
  for (auto unused : state) {
    render(format, {.tier = Tier::kFull}, data().snapshot, page);
    benchmark::DoNotOptimize(page.data());
  }
  state.counters["bytes"] = static_cast<double>(page.size());
}
BENCHMARK_CAPTURE(other_format, openmetrics, ExpositionFormat::kOpenMetrics)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(other_format, protobuf, ExpositionFormat::kProtobuf)->Unit(benchmark::kMicrosecond);

/// The time to copy the finished page: no renderer can be faster.
void copy(benchmark::State& state) {
  RenderedSnapshot& snapshot = data().snapshot;
  prepare_pages({.tier = Tier::kFull}, snapshot);
  const std::string_view page = page_of(snapshot, kFallbackFormat);
  Buffer target;
  target.resize(page.size());
  for (auto unused : state) {
    std::memcpy(target.data(), page.data(), page.size());
    benchmark::DoNotOptimize(target.data());
    benchmark::ClobberMemory();
  }
}
BENCHMARK(copy)->Unit(benchmark::kMicrosecond);

void prometheus_cpp(benchmark::State& state) {
  static prometheus::Registry* registry = [] {
    auto* fresh = new prometheus::Registry;  // never destroyed: that takes longer than the benchmark
    const Snapshot& snapshot = data().snapshot;
    for (const MetricDescriptor& metric : metric_catalogue()) {
      if (metric.scope != MetricScope::kType) continue;
      const auto figure = Figure::from_number(metric.figure);
      auto& family = prometheus::BuildGauge().Name(std::string(metric.name)).Help(std::string(metric.help)).Register(*fresh);
      for (std::size_t row = 0; row < snapshot.row_count(); ++row) {
        if (!snapshot.has(figure, row)) continue;
        const std::uint64_t bits = snapshot.value(figure, row);
        const double value = metric.format == ValueFormat::kDouble   ? std::bit_cast<double>(bits)
                             : metric.format == ValueFormat::kSigned ? static_cast<double>(static_cast<std::int64_t>(bits))
                                                                     : static_cast<double>(bits);
        family.Add({{"allocator", "slab"}, {"type", "cache_number_" + std::to_string(kTypes - 1 - row)}}).Set(value);
      }
    }
    return fresh;
  }();
  std::size_t bytes = 0;
  for (auto unused : state) {
    const std::string page = prometheus::TextSerializer().Serialize(registry->Collect());
    bytes = page.size();
    benchmark::DoNotOptimize(page.data());
  }
  state.counters["bytes"] = static_cast<double>(bytes);
}
BENCHMARK(prometheus_cpp)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace memstat

BENCHMARK_MAIN();
