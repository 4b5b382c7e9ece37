// SPDX-License-Identifier: BSD-2-Clause
// All sources of this kernel that are on by default (read, parse, commit, and files that several read once a poll, as the
// daemon does), against merely reading the same files; and a whole poll of the daemon with every source, every figure and
// every series switched on. Figures: at most 1.5 times the reads, and at most 10 ms of CPU. Needs root.
//
// Here every source is read each time, even those that the daemon reads only every 30 s. All control groups and processes of
// this machine are read; "processes" prints their number.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>

#include "core/kernel/forwarding_view.h"
#include "core/kernel/once_per_poll.h"
#include "core/query.h"
#include "daemon/poll/poller.h"
#include "daemon/poll/source_settings.h"

namespace memstat {
namespace {

/// Logs which files are read. Thread safety: none.
class NotingView final : public ForwardingKernelView {
 public:
  explicit NotingView(std::shared_ptr<KernelView> inner) : ForwardingKernelView(*inner), owned_(std::move(inner)) {}

  Result<void> read_file(std::string_view path, Buffer& out) override {
    auto result = inner_.read_file(path, out);
    if (result && is_noting) files.insert(std::string(path));
    return result;
  }

  bool is_noting = false;
  std::set<std::string, std::less<>> files;

 private:
  std::shared_ptr<KernelView> owned_;
};

struct Live {
  std::shared_ptr<NotingView> noting;
  std::shared_ptr<OncePerPollView> view;
  std::vector<std::unique_ptr<SourceReader>> readers;
  MemoryTypeList list;
  Buffer file;
  std::uint64_t generation = 0;

  Live() {
    auto opened = make_live_kernel_view();
    if (!opened) std::abort();
    noting = std::make_shared<NotingView>(*std::move(opened));
    view = std::make_shared<OncePerPollView>(noting);
    const Config config;
    for (const SourceDescriptor* source : in_reading_order(all_sources())) {
      if (source->os != view->os() || !source->is_on_by_default) continue;
      auto reader = std::make_unique<SourceReader>(*source);
      reader->state->options = option_values(*source, config_of(*source, config), config);
      const auto result = open_source(*reader, *view);
      if (!result && result.error().code == ErrorCode::kNotPresent) continue;
      if (!result) {
        std::fprintf(stderr, "%s\n", to_string(result.error()).c_str());
        std::exit(77);
      }
      readers.push_back(std::move(reader));
    }
    for (int i = 0; i < 3; ++i) poll();  // determined at the first reads
    noting->is_noting = true;
    poll();
    noting->is_noting = false;
  }
  bool poll() {
    ++generation;
    view->begin_poll();
    bool is_whole = true;
    for (const auto& reader : readers) is_whole = static_cast<bool>(refresh(*reader, *view, list, generation)) && is_whole;
    view->end_poll();
    return is_whole;
  }
};

Live& live() {
  static Live instance;
  return instance;
}

void read_only(benchmark::State& state) {
  Live& all = live();
  for (auto unused : state) {
    for (const std::string& path : all.noting->files) {
      if (!all.noting->read_file(path, all.file)) state.SkipWithError(path.c_str());
    }
  }
  state.counters["files"] = static_cast<double>(all.noting->files.size());
}
BENCHMARK(read_only)->Unit(benchmark::kMicrosecond);

void all_default_sources(benchmark::State& state) {
  Live& all = live();
  for (auto unused : state) {
    if (!all.poll()) state.SkipWithError("a source failed");
  }
  state.counters["sources"] = static_cast<double>(all.readers.size());
  state.counters["types"] = static_cast<double>(all.list.size());
}
BENCHMARK(all_default_sources)->Unit(benchmark::kMicrosecond);

/// One source alone, with the files that it reads, to find expensive ones.
void one_source(benchmark::State& state) {
  Live& all = live();
  SourceReader& reader = *all.readers[static_cast<std::size_t>(state.range(0))];
  for (auto unused : state) {
    if (!read_source(reader, *all.view)) state.SkipWithError("the source failed");
  }
  state.SetLabel(std::string(reader.descriptor->name));
}

Config everything_on() {
  Config config;
  config.tier = Tier::kFull;
  config.series_limit = 1'000'000;
  config.per_cpu.types = {*NamePattern::compile(".*")};
  for (const SourceDescriptor* source : all_sources()) {
    SourceConfig& of_source = config.sources[std::string(source->name)];
    of_source.enabled = source->is_on_by_default ? Switch::kAuto : Switch::kOn;
    of_source.interval = std::chrono::nanoseconds(0);
    for (const SourceOption& option : source->options) {
      if (option.kind == SourceOption::Kind::kSwitch) of_source.settings[std::string(option.name)].number = 1;
    }
  }
  return config;
}

void poll_with_everything_on(benchmark::State& state) {
  auto opened = make_live_kernel_view();
  if (!opened) std::abort();
  const SystemClock clock;
  SelfMetrics metrics("bench");
  SnapshotPool pool;
  Poller poller(*std::move(opened), clock, metrics, pool, everything_on(), {.everything = true, .log = {}});
  poller.open_sources();
  std::int64_t now_ns = 0;
  for (int i = 0; i < 4; ++i) poller.poll(now_ns += 10'000'000'000);
  for (auto unused : state) {
    if (!poller.poll(now_ns += 10'000'000'000)) state.SkipWithError("no source is up");
  }
  const auto snapshot = pool.current();
  state.counters["series"] = static_cast<double>(snapshot == nullptr ? 0 : snapshot->series);
  std::size_t up = 0;
  for (const SourceStatus& source : poller.statuses()) {
    up += source.state == SourceState::kUp ? 1 : 0;
    if (source.name == "linux_process") state.counters["process_names"] = static_cast<double>(source.types);
  }
  state.counters["sources"] = static_cast<double>(up);
}
BENCHMARK(poll_with_everything_on)->Unit(benchmark::kMicrosecond)->MeasureProcessCPUTime()->UseRealTime();

}  // namespace
}  // namespace memstat

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  for (std::size_t i = 0; i < memstat::live().readers.size(); ++i) {
    benchmark::RegisterBenchmark("one_source", memstat::one_source)
        ->Arg(static_cast<std::int64_t>(i))
        ->Unit(benchmark::kMicrosecond);
  }
  benchmark::RunSpecifiedBenchmarks();
}
