// SPDX-License-Identifier: BSD-2-Clause
// libcpc on the live kernel, with six of the kernel's own events: a sample against the bare read(2) of the same group, sets
// for 64 CPUs (on a smaller machine, as many sets on its CPUs), and the heap of a handle.
#include <benchmark/benchmark.h>
#include <malloc.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <new>
#include <vector>

#include "core/counters/perf_event.h"
#include "core/include/libcpc.h"

namespace {

/// Heap bytes of this process's C++ objects. Not mallinfo2(3), which counts memory that malloc keeps for reuse as in use.
std::size_t live_bytes = 0;

}  // namespace

void* operator new(std::size_t size) {
  void* const memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  live_bytes += ::malloc_usable_size(memory);
  return memory;
}
void operator delete(void* memory) noexcept {
  live_bytes -= ::malloc_usable_size(memory);
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }

namespace {

constexpr std::array kEvents{"task-clock",   "page-faults",      "minor-faults",
                             "major-faults", "context-switches", "cpu-migrations"};
constexpr std::array<std::uint64_t, 6> kNumbers{1, 2, 5, 6, 3, 4};  // enum perf_sw_ids
constexpr int kCpus = 64;

cpc_set_t* make_set(cpc_t* cpc) {
  cpc_set_t* const set = cpc_set_create(cpc);
  for (const char* event : kEvents) {
    cpc_set_add_request(cpc, set, event, 0, CPC_COUNT_USER | CPC_COUNT_SYSTEM, 0, nullptr);
  }
  return set;
}

bool skip_without(benchmark::State& state, const cpc_t* cpc) {
  if (cpc == nullptr) state.SkipWithError(cpc_open_message());
  return cpc == nullptr;
}

void bare_read(benchmark::State& state) {
  using memstat::counters::PerfEvent;
  const auto door = memstat::counters::make_live_perf_events();
  int first = -1;
  for (const std::uint64_t number : kNumbers) {
    PerfEvent event;
    event.config = number;
    const int fd = door->open(event, 0, -1, first);
    if (fd < 0) return state.SkipWithError("perf events are not available");
    if (first < 0) first = fd;
  }
  std::array<std::uint64_t, 16> words{};
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(::read(first, words.data(), sizeof words));
  }
}
BENCHMARK(bare_read);

void cpc_sample(benchmark::State& state) {
  cpc_t* const cpc = cpc_open(CPC_VER_CURRENT);
  if (skip_without(state, cpc)) return;
  cpc_set_t* const set = make_set(cpc);
  cpc_buf_t* const buffer = cpc_buf_create(cpc, set);
  if (cpc_bind_curlwp(cpc, set, 0) != 0) return state.SkipWithError("the set cannot be bound");
  for ([[maybe_unused]] auto _ : state) cpc_set_sample(cpc, set, buffer);
  cpc_close(cpc);
}
BENCHMARK(cpc_sample);

/// Sets for 64 CPUs. False: one could not be bound.
bool bind_all(cpc_t* cpc, std::vector<cpc_set_t*>& sets) {
  const long online = ::sysconf(_SC_NPROCESSORS_ONLN);
  for (int i = 0; i < kCpus; ++i) {
    sets.push_back(make_set(cpc));
    if (cpc_bind_cpu(cpc, i % static_cast<int>(online), sets.back(), 0) != 0) return false;
  }
  return true;
}

void open_64_cpus(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) {
    cpc_t* const cpc = cpc_open(CPC_VER_CURRENT);
    if (skip_without(state, cpc)) return;
    std::vector<cpc_set_t*> sets;
    if (!bind_all(cpc, sets)) return state.SkipWithError("the sets cannot be bound: root is needed");
    state.PauseTiming();
    cpc_close(cpc);
    state.ResumeTiming();
  }
}
BENCHMARK(open_64_cpus)->Unit(benchmark::kMicrosecond);

void read_64_cpus(benchmark::State& state) {
  cpc_t* const cpc = cpc_open(CPC_VER_CURRENT);
  if (skip_without(state, cpc)) return;
  std::vector<cpc_set_t*> sets;
  if (!bind_all(cpc, sets)) return state.SkipWithError("the sets cannot be bound: root is needed");
  std::vector<cpc_buf_t*> buffers;
  for (cpc_set_t* set : sets) buffers.push_back(cpc_buf_create(cpc, set));
  for ([[maybe_unused]] auto _ : state) {
    for (std::size_t i = 0; i < sets.size(); ++i) cpc_set_sample(cpc, sets[i], buffers[i]);
  }
  cpc_close(cpc);
}
BENCHMARK(read_64_cpus)->Unit(benchmark::kMicrosecond)->UseRealTime();

/// Heap bytes of a handle, and of a handle with a bound set of six events and a buffer.
void handle_memory(benchmark::State& state) {
  std::size_t handle = 0;
  std::size_t whole = 0;
  for ([[maybe_unused]] auto _ : state) {
    const std::size_t before = live_bytes;
    cpc_t* const cpc = cpc_open(CPC_VER_CURRENT);
    if (skip_without(state, cpc)) return;
    handle = live_bytes - before;
    cpc_set_t* const set = make_set(cpc);
    cpc_bind_curlwp(cpc, set, 0);
    cpc_buf_create(cpc, set);
    whole = live_bytes - before;
    cpc_close(cpc);
  }
  state.counters["handle_bytes"] = static_cast<double>(handle);
  state.counters["bound_set_bytes"] = static_cast<double>(whole);
}
BENCHMARK(handle_memory)->Iterations(1);

}  // namespace

BENCHMARK_MAIN();
