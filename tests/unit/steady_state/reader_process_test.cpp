// SPDX-License-Identifier: BSD-2-Clause
// Reading through another process allocates nothing at this end.
#include <gtest/gtest.h>

#include "tests/support/fake_kernel_view.h"
#include "tests/support/forked_reader.h"
#include "tests/unit/steady_state/counted_allocations.h"

namespace memstat {
namespace {

TEST(SteadyReaderProcess, IsReadThroughWithoutAllocating) {
  MEMSTAT_SKIP_UNLESS_COUNTING();
  FakeKernelView inside(OperatingSystem::kFreeBsd);
  inside.set("a_sysctl_with_a_long_name.of_a_few_bytes", "12345678");
  inside.set("a_sysctl_with_a_long_name.of_many_bytes", std::string(300'000, 'x'));
  ForkedReader reader(inside);
  const auto view = reader.connect();
  Buffer out;
  const auto read_both = [&] {
    return view->read_sysctl("a_sysctl_with_a_long_name.of_many_bytes", out, 0).has_value() &&
           view->read_file("a_sysctl_with_a_long_name.of_a_few_bytes", out).has_value();
  };
  ASSERT_TRUE(read_both());
  ASSERT_TRUE(view->seal());
  ASSERT_TRUE(read_both());
  const std::uint64_t before = allocation_count.load();
  bool is_all_read = true;
  for (int i = 0; i < 100; ++i) is_all_read = is_all_read && read_both() && view->is_alive();
  EXPECT_EQ(allocation_count.load() - before, 0U);
  EXPECT_TRUE(is_all_read);
}

}  // namespace
}  // namespace memstat
