// SPDX-License-Identifier: BSD-2-Clause
// A list remains small although the kernel's stream is large.

#define MEMSTAT_REPLACE_MALLOC  // in this program, for the header below
#include "tests/support/c_list.h"
#include "tests/support/fixtures.h"
#include "tests/support/prepared_kernel_view.h"
#include "tests/support/test.h"
#include "tests/unit/steady_state/counted_allocations.h"

namespace memstat {
namespace {

TEST(CApiHeap, OfTheRealStreamsOf21MBIsBelow2MB) {
  if (!kCountsAllocations)
    GTEST_SKIP() << "allocations cannot be counted here: malloc is a sanitizer's, or the C library is not glibc";
  const auto view = std::make_shared<PreparedKernelView>(OperatingSystem::kFreeBsd, 4);
  {
    const auto captured = open_fixture("freebsd-15.0-amd64-4cpu.tar.zst");
    view->copy_from(*captured, {"kern.malloc_stats", "vm.zone_stats", "kern.smp.maxcpus", "kern.malloc_count",
                                "kern.smp.maxid", "vm.zone_count", "vm.malloc.zone_sizes", "vm.malloc.zone_count"});
  }
  ASSERT_GT(view->contents["kern.malloc_stats"].front().size(), 15'000'000U);
  ASSERT_EQ(memstat_sysctl_all(make_list(view).get(), 0), 0);  // what the process allocates once
  const std::int64_t before = live_bytes.load();
  const ListPtr list = make_list(view);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(memstat_sysctl_all(list.get(), 0), 0) << memstat_mtl_get_message(list.get());
    const std::int64_t used = live_bytes.load() - before;
    EXPECT_LT(used, 2'000'000) << "after query " << i;
    EXPECT_GT(used, 300 * 4 * 5 * 8) << "the figures need some memory";
    RecordProperty("bytes_in_use", std::to_string(used));
  }
  EXPECT_GT(memstat_mtl_get_count(list.get()), 400U);
  fill_slots(list.get());
  EXPECT_LT(live_bytes.load() - before, 3'000'000) << "with every slot of every CPU";
}

}  // namespace
}  // namespace memstat
