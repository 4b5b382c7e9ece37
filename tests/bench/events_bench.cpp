// SPDX-License-Identifier: BSD-2-Clause
// The cost that counting slab events adds to the kernel, compared with empty programs on the same tracepoints. A step opens
// an event descriptor and closes it: the counter `events` is the number of events. Also the pass over the slab caches,
// compared with reading slabinfo. Needs root and libbpf.
#include <benchmark/benchmark.h>
#include <bpf/libbpf.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/events/attach/live_tables.h"
#include "core/events/sites/caller_table.h"
#include "core/query.h"

namespace memstat {
namespace events {
std::span<const unsigned char> empty_events();  // tests/bench/empty_events.bpf.c
}  // namespace events

namespace {

constexpr std::string_view kWithoutLimit = "counters 1000000000";

void open_and_close(benchmark::State& state) {
  for ([[maybe_unused]] auto step : state) ::close(::eventfd(0, 0));
}

void detached(benchmark::State& state) { open_and_close(state); }
BENCHMARK(detached);

/// `word`: in the names of the attached programs.
void run_empty_programs(benchmark::State& state, std::string_view word) {
  const std::span<const unsigned char> elf = events::empty_events();
  const std::unique_ptr<bpf_object, void (*)(bpf_object*)> object(bpf_object__open_mem(elf.data(), elf.size(), nullptr),
                                                                  bpf_object__close);
  if (!object || bpf_object__load(object.get()) != 0) return state.SkipWithError("the kernel refuses the programs");
  std::vector<std::unique_ptr<bpf_link, int (*)(bpf_link*)>> links;
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object.get()) {
    if (std::string_view(bpf_program__name(program)).find(word) == std::string_view::npos) continue;
    links.emplace_back(bpf_program__attach(program), bpf_link__destroy);
  }
  open_and_close(state);
}

void empty_programs(benchmark::State& state) { run_empty_programs(state, ""); }
BENCHMARK(empty_programs);

/// All counted allocations and frees.
double events_so_far(SourceReader& reader, TextTableSource& table) {
  reader.raw.cpu_count = 1;
  if (!table.read(reader.raw.parts[0]) || !parse_source(reader)) return 0;
  double sum = 0;
  for (const StagedType& type : reader.staging.types())
    sum += static_cast<double>(type.figures[Field::kNumAllocs] + type.figures[Field::kNumFrees]);
  return sum;
}

void counters(benchmark::State& state) {
  const auto table = events::make_slab_events(kWithoutLimit);
  if (!table->open()) return state.SkipWithError("the kernel refuses the programs");
  SourceReader reader(*find_source("linux_slab_events"));
  const double before = events_so_far(reader, *table);
  open_and_close(state);
  state.counters["events"] = (events_so_far(reader, *table) - before) / static_cast<double>(state.iterations());
}
BENCHMARK(counters);

/// Counting by caller, control group and command, of allocations only.
void callers(benchmark::State& state) {
  const auto table = events::make_call_sites(kWithoutLimit, {});
  if (!table->open()) return state.SkipWithError("the kernel refuses the programs");
  open_and_close(state);
}
BENCHMARK(callers);

/// Empty programs, only on the events of allocations.
void empty_programs_on_allocations(benchmark::State& state) { run_empty_programs(state, "alloc"); }
BENCHMARK(empty_programs_on_allocations);

/// The slab caches by the pass of linux_slab_bpf, including its text, and by the file, which has fewer figures.
void pass_over_caches(benchmark::State& state) {
  const auto table = events::make_slab_caches();
  if (const auto opened = table->open(); !opened) return state.SkipWithError(to_string(opened.error()).c_str());
  Buffer text;
  for ([[maybe_unused]] auto step : state) {
    if (!table->read(text)) return state.SkipWithError("the pass failed");
  }
}
BENCHMARK(pass_over_caches);

void read_slabinfo(benchmark::State& state) {
  const auto view = make_live_kernel_view();
  Buffer text;
  if (!view || !(*view)->keep_open("/proc/slabinfo")) return state.SkipWithError("/proc/slabinfo cannot be opened");
  for ([[maybe_unused]] auto step : state) {
    if (!(*view)->read_file("/proc/slabinfo", text)) return state.SkipWithError("/proc/slabinfo cannot be read");
  }
}
BENCHMARK(read_slabinfo);

}  // namespace
}  // namespace memstat

BENCHMARK_MAIN();
