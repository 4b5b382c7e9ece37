// SPDX-License-Identifier: BSD-2-Clause
// Counters of CPUs: a poll allocates nothing.
#if defined(__linux__) && __has_include(<linux/perf_event.h>)
#include <gtest/gtest.h>

#include <cerrno>

#include "core/counters/counter_table.h"
#include "core/counters/perf_system.h"
#include "core/query.h"
#include "tests/support/fake_kernel_view.h"
#include "tests/support/fake_perf_events.h"
#include "tests/unit/steady_state/counted_allocations.h"

namespace memstat {
namespace {

TEST(SteadyCounters, OfManyCpusAreReadAndParsedWithoutAllocating) {
  MEMSTAT_SKIP_UNLESS_COUNTING();
  const SourceDescriptor* const source = find_source("cpu_counters");
  if (source == nullptr) GTEST_SKIP() << "this build has no counters";
  counters::FakePerfEvents door;
  door.absent[{counters::kPerfHardware, 3}] = ENOENT;
  FakeKernelView view(OperatingSystem::kLinux, 64);
  counters::CounterTable table(
      {{.name = "memory", .cpus = "all", .events = {"cache-misses", "minor-faults", "major-faults"}},
       {.name = "raw", .cpus = "0-31", .events = {"r1", "r2", "r3", "r4", "r5"}}},
      [&] {
        counters::Answer<std::unique_ptr<counters::CounterSystem>> answer;
        answer.value = std::make_unique<counters::PerfSystem>(door, view);
        return answer;
      });
  table.set_online("0-63");
  ASSERT_TRUE(table.open());
  SourceReader reader(*source);
  expect_steady([&](int) { return table.read(reader.raw.parts[0]).has_value() && parse_source(reader).has_value(); });
  EXPECT_EQ(reader.staging.statistics().entries().size(), 64U * 2 + 32U * 5) << "and no ratio of no time";
  EXPECT_NE(reader.staging.note(), "") << "the note about omissions is repeated at every poll";
}

}  // namespace
}  // namespace memstat

#endif
