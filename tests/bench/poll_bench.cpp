// SPDX-License-Identifier: BSD-2-Clause
// A poll of the live slab caches (read, parse, commit, track) against merely reading /proc/slabinfo to its end; and the same
// with building and rendering the text page. Figures: at most 1.2 and 1.6 times the read. Needs root.
#include <benchmark/benchmark.h>

#include <cstdlib>

#include "core/query.h"
#include "daemon/exposition/exposition.h"
#include "daemon/tracking/delta_tracker.h"

namespace memstat {
namespace {

constexpr auto kSlab = static_cast<std::size_t>(Allocator::kSlab);

struct Live {
  std::unique_ptr<KernelView> view;
  SourceReader reader{*find_source("linux_slabinfo")};
  MemoryTypeList list;
  DeltaTracker tracker{{}};
  SnapshotBuilder builder;
  RenderedSnapshot snapshot;
  Buffer text;
  std::array<FieldMask, kAllocatorCount> live{};
  std::uint64_t generation = 0;

  Live() {
    auto opened = make_live_kernel_view();
    if (!opened) std::abort();
    view = *std::move(opened);
    if (const auto result = open_source(reader, *view); !result) {
      std::fprintf(stderr, "%s\n", to_string(result.error()).c_str());
      std::exit(77);
    }
    live[kSlab] = reader.descriptor->fields;
  }
  bool poll() {
    ++generation;
    if (!refresh(reader, *view, list, generation)) return false;
    tracker.track(list, live, {}, generation, static_cast<std::int64_t>(generation) * 10'000'000'000);
    return true;
  }
};

Live& live() {
  static Live instance;
  return instance;
}

void read_only(benchmark::State& state) {
  for (auto unused : state) {
    if (!live().view->read_file("/proc/slabinfo", live().text)) state.SkipWithError("cannot read /proc/slabinfo");
  }
  state.counters["bytes"] = static_cast<double>(live().text.size());
}
BENCHMARK(read_only)->Unit(benchmark::kMicrosecond);

void poll(benchmark::State& state) {
  for (auto unused : state) {
    if (!live().poll()) state.SkipWithError("the poll failed");
  }
  state.counters["types"] = static_cast<double>(live().list.size());
}
BENCHMARK(poll)->Unit(benchmark::kMicrosecond);

void poll_and_render(benchmark::State& state) {
  Live& all = live();
  for (auto unused : state) {
    if (!all.poll()) state.SkipWithError("the poll failed");
    all.builder.build(all.list, all.live, {}, all.generation, {}, all.snapshot);
    prepare_pages({}, all.snapshot);
    benchmark::DoNotOptimize(page_of(all.snapshot, kFallbackFormat).data());
  }
  state.counters["series"] = static_cast<double>(all.snapshot.series);
}
BENCHMARK(poll_and_render)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace memstat

BENCHMARK_MAIN();
