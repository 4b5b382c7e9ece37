// SPDX-License-Identifier: BSD-2-Clause
// What counting slab events adds to the kernel's work, beside programs that do nothing on the same tracepoints. A step opens
// an event descriptor and closes it: the counter `events` says how many events that are. Needs root and libbpf.
#include <benchmark/benchmark.h>
#include <bpf/libbpf.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <memory>
#include <span>
#include <vector>

#include "core/events/slab_events.h"
#include "core/query.h"

namespace memstat {
namespace events {
std::span<const unsigned char> empty_events();  // tests/bench/empty_events.bpf.c
}  // namespace events

namespace {

void open_and_close(benchmark::State& state) {
  for ([[maybe_unused]] auto step : state) ::close(::eventfd(0, 0));
}

void detached(benchmark::State& state) { open_and_close(state); }
BENCHMARK(detached);

void empty_programs(benchmark::State& state) {
  const std::span<const unsigned char> elf = events::empty_events();
  const std::unique_ptr<bpf_object, void (*)(bpf_object*)> object(bpf_object__open_mem(elf.data(), elf.size(), nullptr),
                                                                  bpf_object__close);
  if (!object || bpf_object__load(object.get()) != 0) return state.SkipWithError("the kernel refuses the programs");
  std::vector<std::unique_ptr<bpf_link, int (*)(bpf_link*)>> links;
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object.get()) links.emplace_back(bpf_program__attach(program), bpf_link__destroy);
  open_and_close(state);
}
BENCHMARK(empty_programs);

/// All allocations and frees that are counted.
double events_so_far(SourceReader& reader, LiveTable& table) {
  reader.raw.cpu_count = 1;
  if (!table.read(reader.raw.parts[0]) || !parse_source(reader)) return 0;
  double sum = 0;
  for (const StagedType& type : reader.staging.types())
    sum += static_cast<double>(type.figures[Field::kNumAllocs] + type.figures[Field::kNumFrees]);
  return sum;
}

void counters(benchmark::State& state) {
  const auto table = events::make_slab_events();
  if (!table->open()) return state.SkipWithError("the kernel refuses the programs");
  SourceReader reader(*find_source("linux_slab_events"));
  const double before = events_so_far(reader, *table);
  open_and_close(state);
  state.counters["events"] = (events_so_far(reader, *table) - before) / static_cast<double>(state.iterations());
}
BENCHMARK(counters);

/// Reading what was counted: what a poll costs, without the kernel.
void read_and_parse(benchmark::State& state) {
  const auto table = events::make_slab_events();
  if (!table->open()) return state.SkipWithError("the kernel refuses the programs");
  SourceReader reader(*find_source("linux_slab_events"));
  for ([[maybe_unused]] auto step : state) benchmark::DoNotOptimize(events_so_far(reader, *table));
}
BENCHMARK(read_and_parse);

}  // namespace
}  // namespace memstat

BENCHMARK_MAIN();
