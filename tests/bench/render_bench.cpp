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

#include "daemon/delta_tracker.h"
#include "daemon/exposition/exposition.h"

namespace memstat {
namespace {

constexpr std::size_t kTypes = 10'000;  // ten series each

constexpr FieldMask kFields{Field::kBytes, Field::kCount, Field::kHeldBytes, Field::kFree, Field::kRSize};

/// A list of slab caches with figures of all sizes, tracked twice, and its snapshot. Tier full: ten series a type.
struct Data {
  MemoryTypeList list;
  DeltaTracker tracker{{}};
  SnapshotBuilder builder;
  Snapshot snapshot;

  Data() {
    std::array<FieldMask, kAllocatorCount> live{};
    live[static_cast<std::size_t>(Allocator::kSlab)] = kFields;
    Staging staging;
    std::vector<std::string> names;  // a Staging borrows its names
    for (std::size_t i = 0; i < kTypes; ++i) names.push_back("cache_number_" + std::to_string(i));
    for (std::uint64_t poll = 1; poll <= 2; ++poll) {
      staging.reset({}, 0);
      for (std::size_t i = 0; i < kTypes; ++i) {
        StagedType& type = staging.add(names[i]);
        type.fields = kFields;
        for (std::size_t field = 0; field < kFieldCount; ++field) {
          type.figures[static_cast<Field>(field)] = (i * 2654435761U) >> (i % 28) | poll;
        }
      }
      const CommitScope scope{
          .source = "bench", .allocator = Allocator::kSlab, .is_roster = true, .fields = kFields, .cpu_fields = {}};
      if (!list.commit(scope, staging, poll)) std::abort();
      tracker.track(list, live, {}, poll, static_cast<std::int64_t>(poll) * 10'000'000'000);
    }
    builder.build(list, live, {}, 2, {}, snapshot);
  }
};

Data& data() {
  static Data instance;
  return instance;
}

void ours(benchmark::State& state) {
  Snapshot& snapshot = data().snapshot;
  for (auto unused : state) {
    render_text({.tier = Tier::kFull}, snapshot);
    benchmark::DoNotOptimize(snapshot.text.data());
  }
  state.counters["series"] = static_cast<double>(snapshot.series);
  state.counters["bytes"] = static_cast<double>(snapshot.text.size());
}
BENCHMARK(ours)->Unit(benchmark::kMicrosecond);

/// The other formats, for information: they are rendered when they are asked for.
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
  Snapshot& snapshot = data().snapshot;
  render_text({.tier = Tier::kFull}, snapshot);
  Buffer target;
  target.resize(snapshot.text.size());
  for (auto unused : state) {
    std::memcpy(target.data(), snapshot.text.data(), snapshot.text.size());
    benchmark::DoNotOptimize(target.data());
    benchmark::ClobberMemory();
  }
}
BENCHMARK(copy)->Unit(benchmark::kMicrosecond);

void prometheus_cpp(benchmark::State& state) {
  static prometheus::Registry* registry = [] {
    auto* fresh = new prometheus::Registry;  // lives to the end: taking it apart takes longer than the benchmark
    const Snapshot& snapshot = data().snapshot;
    for (const MetricDescriptor& metric : metric_catalogue()) {
      if (metric.scope != MetricScope::kType) continue;
      const auto figure = static_cast<Figure>(metric.figure);
      auto& family = prometheus::BuildGauge().Name(std::string(metric.name)).Help(std::string(metric.help)).Register(*fresh);
      for (std::size_t row = 0; row < snapshot.row_count(); ++row) {
        if (!snapshot.has(figure, row)) continue;
        const std::uint64_t bits = snapshot.value(figure, row);
        const double value = metric.format == FigureFormat::kDouble   ? std::bit_cast<double>(bits)
                             : metric.format == FigureFormat::kSigned ? static_cast<double>(static_cast<std::int64_t>(bits))
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
