// SPDX-License-Identifier: BSD-2-Clause
// A steady poll of a roster and of a contributor that names types missing in the roster, with a file that both
// read, allocates nothing; nor does reading one of thousands of open files.
#include <gtest/gtest.h>

#include <memory>

#include "core/kernel/posix_files.h"
#include "daemon/poll/poller.h"
#include "tests/support/fake_sources.h"
#include "tests/support/fixtures.h"
#include "tests/support/prepared_kernel_view.h"
#include "tests/unit/steady_state/counted_allocations.h"

namespace memstat {
namespace {

TEST(SteadyContributor, WithUnknownNamesAndASharedFileAllocatesNothing) {
  MEMSTAT_SKIP_UNLESS_COUNTING();
  auto view = std::make_shared<PreparedKernelView>(OperatingSystem::kLinux);
  std::array<std::string, 2> roster;
  std::array<std::string, 2> contributor;
  for (int version = 0; version < 2; ++version) {
    for (int i = 0; i < 500; ++i) {
      const std::string number = std::to_string(i) + ' ' + std::to_string(1000 * version + i) + '\n';
      roster[version] += "a_type_with_a_long_name_" + number;
      contributor[version] += (i % 3 == 0 ? "a_name_that_no_roster_has_" : "a_type_with_a_long_name_") + number;
    }
    view->contents[std::string(kFakeRosterFile)].push_back(roster[version]);
    view->contents[std::string(kFakeContributorFile)].push_back(contributor[version]);
    view->contents[std::string(kFakeSharedFile)].push_back(std::string(3000, 'x'));
  }
  const FakeSources sources;
  const SystemClock clock;
  SelfMetrics metrics("test");
  SnapshotPool pool;
  Poller poller(view, clock, metrics, pool, Config{}, {.log = {}, .sources = sources.all});
  poller.open_sources();
  prepare_stack();
  for (int poll = 1; poll <= 20; ++poll) {
    view->version = static_cast<std::size_t>(poll);
    const std::uint64_t before = allocation_count.load();
    wants_stack = poll > 3;  // until then pages grow
    EXPECT_TRUE(poller.poll(std::int64_t{poll} * 10'000'000'000));
    wants_stack = false;
    if (poll > 3) {
      EXPECT_EQ(allocation_count.load() - before, 0U) << "poll " << poll;
    }
    EXPECT_EQ(view->reads_of(kFakeSharedFile), static_cast<std::size_t>(poll));
  }
  if (testing::Test::HasFailure()) print_stack();
  EXPECT_GT(pool.current()->series, 800U);
}

TEST(SteadyKeptFiles, AreFoundAndReadWithoutAllocating) {
  MEMSTAT_SKIP_UNLESS_COUNTING();
  const TemporaryDirectory directory;
  PosixFiles files;
  std::vector<std::string> paths;
  for (int i = 0; i < 200; ++i) {
    paths.push_back(directory.file("a file with a long name, number " + std::to_string(i)));
    write_text(paths.back(), "content");
    ASSERT_TRUE(files.keep_open(paths.back()));
  }
  Buffer out;
  ASSERT_TRUE(files.read_file(paths[0], out, ReadManner::kToTheEnd));
  const std::uint64_t before = allocation_count.load();
  bool is_all_read = true;
  for (const std::string& path : paths)
    is_all_read = is_all_read && files.read_file(path, out, ReadManner::kToTheEnd).has_value();
  EXPECT_EQ(allocation_count.load() - before, 0U);
  EXPECT_TRUE(is_all_read);
}

}  // namespace
}  // namespace memstat
