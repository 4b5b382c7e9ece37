// SPDX-License-Identifier: BSD-2-Clause
// The cost of reading the kernel in another process (core/kernel/reader_process.h): a stream of 15 MB, a file of a few
// bytes, and all sources of this kernel that are on by default, each direct and through a reader. Measures real time,
// because two processes work alternately. Needs root for the live kernel.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>

#include "core/kernel/once_per_poll.h"
#include "core/query.h"
#include "daemon/poll/source_settings.h"
#include "tests/support/forked_reader.h"

namespace memstat {
namespace {

constexpr std::size_t kStreamBytes = 15'000'000;  // kern.malloc_stats of a FreeBSD 15 for amd64
constexpr std::string_view kSmallFile = "/proc/sys/vm/swappiness";

/// Has the bytes of the stream, which the kernel copies out.
class StreamView final : public KernelView {
 public:
  StreamView() {
    bytes_.resize(kStreamBytes);
    for (std::size_t i = 0; i < kStreamBytes; ++i) bytes_.data()[i] = static_cast<char>(i * 7 / 64);
  }
  [[nodiscard]] OperatingSystem os() const override { return OperatingSystem::kFreeBsd; }
  [[nodiscard]] std::uint64_t page_size() const override { return 4096; }
  [[nodiscard]] std::uint32_t cpu_count() const override { return 1; }
  Result<void> read_sysctl(std::string_view, Buffer& out, std::size_t) override {
    return out.assign(bytes_.view()), Result<void>();
  }

 private:
  Buffer bytes_;
};

std::shared_ptr<KernelView> make_live() {
  auto live = make_live_kernel_view();
  if (!live) std::abort();
  return *std::move(live);
}

/// A separate reader over a view.
struct Split {
  explicit Split(std::shared_ptr<KernelView> of) : inside(std::move(of)), reader(*inside), view(reader.connect()) {}
  std::shared_ptr<KernelView> inside;
  ForkedReader reader;
  std::shared_ptr<ReaderView> view;
};

/// All default sources of this kernel, as the daemon polls them.
struct Poll {
  explicit Poll(const std::shared_ptr<KernelView>& of) : view(std::make_shared<OncePerPollView>(of)) {
    const Config config;
    for (const SourceDescriptor* source : in_reading_order(all_sources())) {
      if (source->os != view->os() || !source->is_on_by_default) continue;
      auto reader = std::make_unique<SourceReader>(*source);
      reader->state->options = option_values(*source, config_of(*source, config), config);
      if (open_source(*reader, *view)) readers.push_back(std::move(reader));
    }
    for (int i = 0; i < 3; ++i) run();  // determined at the first reads
  }
  void run() {
    view->begin_poll();
    for (const auto& reader : readers) (void)refresh(*reader, *view, list, ++generation);
    view->end_poll();
  }
  std::shared_ptr<OncePerPollView> view;
  std::vector<std::unique_ptr<SourceReader>> readers;
  MemoryTypeList list;
  std::uint64_t generation = 0;
};

void read_stream(benchmark::State& state, KernelView& view) {
  Buffer out;
  for (auto _ : state) {
    if (!view.read_sysctl("kern.malloc_stats", out, kStreamBytes)) state.SkipWithError("read");
    benchmark::DoNotOptimize(out.data());
  }
}
void stream_direct(benchmark::State& state) {
  static StreamView view;
  read_stream(state, view);
}
void stream_split(benchmark::State& state) {
  static Split split(std::make_shared<StreamView>());
  read_stream(state, *split.view);
}

void read_small(benchmark::State& state, KernelView& view) {
  Buffer out;
  for (auto _ : state) {
    if (!view.read_file(kSmallFile, out)) state.SkipWithError("read");
    benchmark::DoNotOptimize(out.data());
  }
}
void small_direct(benchmark::State& state) {
  static const auto view = make_live();
  read_small(state, *view);
}
void small_split(benchmark::State& state) {
  static Split split(make_live());
  read_small(state, *split.view);
}

void poll_direct(benchmark::State& state) {
  static Poll poll(make_live());
  for (auto _ : state) poll.run();
}
void poll_split(benchmark::State& state) {
  static Split split(make_live());
  static const auto poll = [] {
    auto made = std::make_unique<Poll>(split.view);
    if (!split.view->seal()) std::abort();
    return made;
  }();
  for (auto _ : state) poll->run();
  state.counters["sources"] = static_cast<double>(poll->readers.size());
}

BENCHMARK(stream_direct)->UseRealTime();
BENCHMARK(stream_split)->UseRealTime();
BENCHMARK(small_direct)->UseRealTime();
BENCHMARK(small_split)->UseRealTime();
BENCHMARK(poll_direct)->UseRealTime();
BENCHMARK(poll_split)->UseRealTime();

}  // namespace
}  // namespace memstat

BENCHMARK_MAIN();
