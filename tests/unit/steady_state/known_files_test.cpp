// SPDX-License-Identifier: BSD-2-Clause
// Sources that read several files together allocate nothing after the first read.
#include <gtest/gtest.h>

#include "core/collect/file_list.h"
#include "core/query.h"
#include "tests/support/fixtures.h"
#include "tests/support/prepared_kernel_view.h"
#include "tests/unit/steady_state/counted_allocations.h"

namespace memstat {
namespace {

class SteadyFiles : public testing::TestWithParam<const char*> {};

TEST_P(SteadyFiles, AreReadAndParsedWithoutAllocations) {
  MEMSTAT_SKIP_UNLESS_COUNTING();
  const auto captured = open_fixture("linux-7.2-2cpu-tables.tar.zst");
  SourceReader reader(*find_source(GetParam()));
  std::vector<std::string> paths;
  for (std::string_view rest = reader.descriptor->origin; !rest.empty();) {
    const std::size_t comma = std::min(rest.find(", "), rest.size());
    paths.emplace_back(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 2, rest.size()));
  }
  PreparedKernelView view(OperatingSystem::kLinux, 2);
  view.copy_from(*captured, paths);
  ASSERT_GT(view.contents.size(), 3U);
  // Absent files are looked for occasionally.
  if (reader.descriptor->name == "linux_socket") {
    ASSERT_GT(paths.size(), view.contents.size());
  }
  MemoryTypeList list;
  ASSERT_TRUE(open_source(reader, view));
  expect_steady([&](int poll) { return refresh(reader, view, list, static_cast<std::uint64_t>(poll) + 1).has_value(); });
  EXPECT_GT(list.size() + reader.staging.statistics().entries().size(), 5U);
}

INSTANTIATE_TEST_SUITE_P(Sources, SteadyFiles, testing::Values("linux_socket", "linux_table", "linux_checkers"),
                         [](const auto& parameter) { return std::string(parameter.param); });

}  // namespace
}  // namespace memstat
