// SPDX-License-Identifier: BSD-2-Clause
// What CPUs count, and what resource groups use of cache and bandwidth: a poll that finds what the one before found
// allocates nothing.
#include <gtest/gtest.h>

#include <cerrno>

#include "core/query.h"
#include "tests/support/fixtures.h"
#include "tests/support/rooted_kernel_view.h"
#include "tests/unit/steady_state/counted_allocations.h"

#if defined(__linux__) && __has_include(<linux/perf_event.h>)
#include "core/counters/counter_table.h"
#include "core/counters/perf_system.h"
#include "tests/support/fake_kernel_view.h"
#include "tests/support/fake_perf_events.h"
#endif

namespace memstat {
namespace {

#if defined(__linux__) && __has_include(<linux/perf_event.h>)
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
#endif

TEST(SteadyResctrl, AllocatesNothingWhileTheSameGroupsAreThere) {
  MEMSTAT_SKIP_UNLESS_COUNTING();
  if (!RootedKernelView::has_live_view()) GTEST_SKIP() << "this system has no live view";
  const TemporaryDirectory directory;
  const auto write = [&](const std::string& path, const std::string& text) {
    write_text(directory.file("sys/fs/resctrl" + path), text);
  };
  write("/info/L3_MON/num_rmids", "176\n");
  std::vector<std::string> groups{"", "/mon_groups/a monitored group of the default one"};
  for (int i = 0; i < 10; ++i) {
    groups.push_back("/a control group with a long name " + std::to_string(i));
    groups.push_back(groups.back() + "/mon_groups/a monitored group of it");
  }
  for (const std::string& group : groups) {
    for (const char* domain : {"00", "01"}) {
      const std::string data = group + "/mon_data/mon_L3_" + domain;
      write(data + "/llc_occupancy", "4096\n");
      write(data + "/mbm_total_bytes", "18446744073709551615\n");
      write(data + "/mbm_local_bytes", "Unavailable\n");
    }
  }
  RootedKernelView view(directory.path());
  SourceReader reader(*find_source("linux_resctrl"));
  MemoryTypeList list;
  std::uint64_t generation = 0;
  expect_steady([&](int) { return refresh(reader, view, list, ++generation).has_value(); });
  EXPECT_EQ(reader.staging.statistics().entries().size(), groups.size() * 2 * 2 + 1);
}

}  // namespace
}  // namespace memstat
