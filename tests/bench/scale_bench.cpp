// SPDX-License-Identifier: BSD-2-Clause
// Huge made-up machines: 2000 malloc(9) types on 1024 CPUs (a stream of 125 MiB) and on 4096 (500 MiB), all of
// them in use; the same with few in use; and 20 000 slab caches. Decoding and committing, a whole poll without its read, and
// the default page, in milliseconds, and peak resident memory, which only a process of its own can measure: each machine is
// measured in three children. Prints JSON, an array of what the children of each machine measured.
// Usage: scale_bench [REPETITIONS], 5 by default. Needs 1 GB.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <vector>

#include "core/query.h"
#include "daemon/exposition/exposition.h"
#include "daemon/tracking/delta_tracker.h"
#include "tests/support/synthetic_machine.h"

namespace memstat {
namespace {

struct Machine {
  const char* name;
  OperatingSystem os;
  const char* source;
  SyntheticOptions options;
};
constexpr auto kFreeBsd = OperatingSystem::kFreeBsd;
const Machine kMachines[] = {
    {"malloc_2000x1024", kFreeBsd, "freebsd_malloc", {.types = 2000, .cpus = 1024}},
    {"malloc_2000x4096", kFreeBsd, "freebsd_malloc", {.types = 2000, .cpus = 4096}},
    {"malloc_2000x4096_sparse",
     kFreeBsd,
     "freebsd_malloc",
     {.types = 2000, .cpus = 4096, .cpus_in_use = 4, .idle_one_in = 2}},
    {"slab_20000", OperatingSystem::kLinux, "linux_slabinfo", {.caches = 20'000, .cpus = 64, .duplicate_one_in = 50}},
};

double cpu_milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

/// CPU time, including the kernel's for fresh pages: nothing here waits, and others may use the machine.
double milliseconds_of(const std::function<bool()>& step) {
  const double begin = cpu_milliseconds();
  if (!step()) std::abort();
  return cpu_milliseconds() - begin;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

double peak_resident_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024 / 1e6;
}

/// In a separate process, because a peak never decreases.
void measure(const Machine& of, int repetitions) {
  SyntheticMachine machine(of.os, of.options);
  SourceReader reader(*find_source(of.source));
  const double before_mb = peak_resident_mb();
  const auto read = [&](std::uint64_t poll) {
    machine.poll = poll;
    if (!open_source(reader, machine) || !read_source(reader, machine)) std::abort();
  };
  read(1);
  MemoryTypeList list;
  DeltaTracker tracker{{}};
  SnapshotBuilder builder;
  RenderedSnapshot snapshot;
  std::array<FieldMask, kAllocatorCount> live{};
  live[static_cast<std::size_t>(reader.descriptor->allocator)] = reader.descriptor->fields;
  const auto stream_mb = static_cast<double>(reader.raw.parts[0].size()) / 1e6;

  // The first one meets memory that was never touched; later ones are what a daemon does every ten seconds.
  const double first = milliseconds_of([&] { return commit_source(reader, list, 1).has_value(); });
  std::vector<double> commits;
  std::vector<double> parses;
  std::vector<double> pages;
  for (int i = 0; i < repetitions; ++i) {
    const std::uint64_t poll = static_cast<std::uint64_t>(i) + 2;
    read(poll);
    commits.push_back(milliseconds_of([&] { return commit_source(reader, list, poll).has_value(); }));
    parses.push_back(milliseconds_of([&] { return parse_source(reader).has_value(); }));
    pages.push_back(milliseconds_of([&] {
      tracker.track(list, live, {}, poll, static_cast<std::int64_t>(poll) * 10'000'000'000);
      builder.build(list, live, {}, poll, {}, snapshot);
      prepare_pages({}, snapshot);
      return !page_of(snapshot, kFallbackFormat).empty();
    }));
  }
  std::printf(
      "{\"stream_mb\": %.1f, \"first_commit_ms\": %.1f, \"parse_ms\": %.1f, \"commit_ms\": %.1f, \"page_ms\": %.2f, "
      "\"series\": %zu, \"peak_mb\": %.1f, \"beyond_stream_mb\": %.1f}",
      stream_mb, first, median(parses), median(commits), median(pages), snapshot.series, peak_resident_mb(),
      peak_resident_mb() - before_mb - stream_mb);
}

/// Whether the child succeeded.
bool measure_in_child(const Machine& machine, int repetitions) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child < 0) return false;
  if (child == 0) {
    measure(machine, repetitions);
    std::fflush(stdout);
    _exit(0);
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && status == 0;
}

int measure_all(int repetitions) {
  constexpr int kChildren = 3;
  std::printf("{\n");
  for (const Machine& machine : kMachines) {
    std::printf("  \"%s\": [", machine.name);
    for (int i = 0; i < kChildren; ++i) {
      if (i != 0) std::printf(",\n    ");
      if (!measure_in_child(machine, repetitions)) return 1;
    }
    std::printf(&machine == std::end(kMachines) - 1 ? "]\n}\n" : "],\n");
  }
  return 0;
}

}  // namespace
}  // namespace memstat

int main(int argc, char** argv) { return memstat::measure_all(argc > 1 ? std::max(std::atoi(argv[1]), 1) : 5); }
