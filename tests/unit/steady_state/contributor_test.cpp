// SPDX-License-Identifier: BSD-2-Clause
// A steady poll of a roster and of a contributor that names types missing in the roster, with a file that both
// read, allocates nothing; nor does reading through another process, or remembering what was read.
#include <gtest/gtest.h>

#include <memory>

#include "core/capture/poll_ring.h"
#include "daemon/poll/poller.h"
#include "tests/support/fake_kernel_view.h"
#include "tests/support/fake_sources.h"
#include "tests/support/forked_reader.h"
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
  FakeSources sources;
  // Not failures: each type that fails is a finding, and findings are texts.
  sources.contributor.fields = FieldMask(Field::kNumAllocs);
  sources.contributor.steps =
      source_steps<ReaderState, open_nothing, read_fake<kFakeContributorFile>, parse_fake<Field::kNumAllocs>>();
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

TEST(SteadyPollRing, RemembersWithoutAllocating) {
  MEMSTAT_SKIP_UNLESS_COUNTING();
  PollRing ring(2 << 20);
  PollInfo info{.label = "live", .realtime_ns = 1, .monotonic_ns = 1};
  std::string content(30'000, 'x');
  for (int poll = 0; poll < 300; ++poll) {
    content.back() = static_cast<char>('a' + poll % 2);
    const std::uint64_t before = allocation_count.load();
    for (const std::string_view file : {"/proc/a_file_with_a_long_name", "/proc/another_file_with_a_long_name"})
      ring.add(PollRecord::Kind::kFile, file, content, 0);
    info.monotonic_ns += PollRing::kOldEveryNs / 4;
    ring.end_poll(info);
    if (poll >= 100) {
      ASSERT_EQ(allocation_count.load() - before, 0U) << "poll " << poll;
    }
  }
  EXPECT_GT(ring.poll_count(), 15U);
}

}  // namespace
}  // namespace memstat
