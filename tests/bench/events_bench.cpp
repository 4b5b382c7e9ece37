// SPDX-License-Identifier: BSD-2-Clause
// The cost that counting slab events adds to the kernel, compared with empty programs on the same tracepoints. A step opens
// an event descriptor and closes it: the counter `events` is the number of events. Also the pass over the slab caches,
// compared with reading slabinfo. Needs root and libbpf.
#include <benchmark/benchmark.h>
#include <bpf/libbpf.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <ctime>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/events/attach/live_tables.h"
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

/// Reading the counts: the cost of a poll, without the kernel.
void read_and_parse(benchmark::State& state) {
  const auto table = events::make_slab_events(kWithoutLimit);
  if (!table->open()) return state.SkipWithError("the kernel refuses the programs");
  SourceReader reader(*find_source("linux_slab_events"));
  for ([[maybe_unused]] auto step : state) benchmark::DoNotOptimize(events_so_far(reader, *table));
}
BENCHMARK(read_and_parse);

/// ns of CPU per step, of steps for this long; `look` is called every 50 ms.
double ns_a_step(double seconds, const std::function<void()>& look) {
  constexpr int kStepsARound = 1000;
  constexpr std::int64_t kRound = 50'000'000;
  const std::int64_t begin = system_clock().monotonic_ns();
  std::int64_t now = begin;
  std::int64_t next = begin + kRound;
  std::uint64_t steps = 0;
  const std::clock_t used = std::clock();
  while (static_cast<double>(now - begin) < seconds * 1e9) {
    for (int i = 0; i < kStepsARound; ++i) ::close(::eventfd(0, 0));
    steps += kStepsARound;
    now = system_clock().monotonic_ns();
    if (now < next) continue;
    look();
    next = now + kRound;
  }
  return static_cast<double>(std::clock() - used) / CLOCKS_PER_SEC * 1e9 / static_cast<double>(steps);
}

/// The share of a CPU that counting takes if the CPU only causes events, compared with a budget of N percent of what
/// counting all of them would take; 0: 1 % of a CPU, which sampling cannot meet, so that it detaches.
void governed(benchmark::State& state) {
  Buffer text;
  for ([[maybe_unused]] auto step : state) {
    double counted = 0;
    const double bare = ns_a_step(2, [] {});
    {
      const auto table = events::make_slab_events(kWithoutLimit);
      if (!table->open()) return state.SkipWithError("the kernel refuses the programs");
      counted = ns_a_step(2, [] {});
    }
    const double all = (counted - bare) / counted;
    const double share = state.range(0) == 0 ? 0.01 : all * static_cast<double>(state.range(0)) / 100;
    events::EventBudget budget(0.5);
    const auto table =
        events::make_slab_events("counters " + std::to_string(static_cast<std::uint64_t>(share * 1e6)), budget);
    if (!table->open()) return state.SkipWithError("the kernel refuses the programs");
    const double ns = ns_a_step(8, [&] { (void)table->read(text); });
    state.counters["of_all_percent"] = 100 * all;
    state.counters["budget_percent"] = 100 * share;
    state.counters["used_percent"] = 100 * (ns - bare) / ns;
    state.counters["detached"] = text.view().find("\ngovernor 0 ") == std::string_view::npos ? 0 : 1;
  }
}
BENCHMARK(governed)->Arg(0)->Arg(90)->Arg(95)->Iterations(1);

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
