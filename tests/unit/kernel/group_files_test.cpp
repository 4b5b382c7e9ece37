// SPDX-License-Identifier: BSD-2-Clause
// Files of groups that are answered from counters that were just read, and the set of groups. A group is a directory with an
// inode.
#if defined(__linux__)

#include <sys/stat.h>

#include "core/kernel/group_files.h"
#include "tests/support/fixtures.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::int64_t kReadAt = 5'000'000'000;
constexpr std::uint64_t kNoLimit = (~std::uint64_t{0} >> 1U) / kPage;

class GroupFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    publish();
    files_.learn(path("memory.current"), "1\n", kReadAt);
  }
  void TearDown() override { publish_group_counters({}, false, kReadAt - kCountersLastNs); }

  [[nodiscard]] std::string path(const std::string& file) const { return directory_.path() + "/" + file; }
  [[nodiscard]] std::uint64_t inode() const {
    struct stat status {};
    EXPECT_EQ(::stat(directory_.path().c_str(), &status), 0);
    return status.st_ino;
  }
  void publish(std::uint64_t other_inode = 0, std::uint64_t events = 0) {
    const std::array<GroupCounters, 2> groups{{{.inode = 1},
                                               {.inode = other_inode != 0 ? other_inode : inode(),
                                                .events = events,
                                                .memory = {.usage = 10, .failures = 11, .limit = 12},
                                                .both = {.usage = 20, .failures = 21, .limit = 22},
                                                .kernel = {.usage = 30, .failures = 31, .limit = kNoLimit},
                                                .sockets = {.usage = 40, .failures = 41, .limit = kNoLimit}}}};
    publish_group_counters(groups, true, kReadAt);
  }
  /// "no answer", or what the file has.
  std::string text_of(const std::string& file, std::int64_t now = kReadAt) {
    Buffer out;
    return files_.answer(path(file), out, now) ? std::string(out.view()) : "no answer";
  }

  TemporaryDirectory directory_;
  GroupFiles files_{kPage};
};

TEST_F(GroupFilesTest, HasEachFileFromItsCounter) {
  EXPECT_EQ(text_of("memory.current"), "40960\n");
  EXPECT_EQ(text_of("memory.max"), "49152\n");
  EXPECT_EQ(text_of("memory.usage_in_bytes"), "40960\n");
  EXPECT_EQ(text_of("memory.limit_in_bytes"), "49152\n");
  EXPECT_EQ(text_of("memory.failcnt"), "11\n");
  EXPECT_EQ(text_of("memory.memsw.usage_in_bytes"), "81920\n");
  EXPECT_EQ(text_of("memory.memsw.limit_in_bytes"), "90112\n");
  EXPECT_EQ(text_of("memory.memsw.failcnt"), "21\n");
  EXPECT_EQ(text_of("memory.kmem.usage_in_bytes"), "122880\n");
  EXPECT_EQ(text_of("memory.kmem.failcnt"), "31\n");
  EXPECT_EQ(text_of("memory.kmem.tcp.usage_in_bytes"), "163840\n");
}

TEST_F(GroupFilesTest, HasNoLimitAsTheKernelPrintsIt) {
  const std::array<GroupCounters, 1> groups{{{.inode = inode(), .memory = {.limit = kNoLimit}}}};
  publish_group_counters(groups, true, kReadAt);
  EXPECT_EQ(text_of("memory.max"), "max\n");
  EXPECT_EQ(text_of("memory.limit_in_bytes"), "9223372036854771712\n");
}

TEST_F(GroupFilesTest, LeavesOtherFilesToTheKernel) {
  EXPECT_EQ(text_of("memory.stat"), "no answer");
  EXPECT_EQ(text_of("memory.swap.current"), "no answer");
}

TEST_F(GroupFilesTest, LeavesOldCounters) {
  EXPECT_EQ(text_of("memory.current", kReadAt + kCountersLastNs - 1), "40960\n");
  EXPECT_EQ(text_of("memory.current", kReadAt + kCountersLastNs), "no answer");
}

TEST_F(GroupFilesTest, KnowsAGroupOnceAFileOfItWasRead) {
  GroupFiles fresh(kPage);
  Buffer out;
  EXPECT_FALSE(fresh.answer(path("memory.current"), out, kReadAt));
  fresh.learn(path("memory.stat"), "anon 1\n", kReadAt);
  fresh.learn(path("memory.current"), "1\n", kReadAt + kCountersLastNs);
  EXPECT_FALSE(fresh.answer(path("memory.current"), out, kReadAt));
  fresh.learn(path("memory.current"), "1\n", kReadAt);
  EXPECT_TRUE(fresh.answer(path("memory.current"), out, kReadAt));
}

TEST_F(GroupFilesTest, LearnsTheGroupThatTookAnothersPlace) {
  publish(12345);  // the group that was at this path is gone, and the new one is not learned yet
  EXPECT_EQ(text_of("memory.current"), "no answer");
  publish();
  EXPECT_EQ(text_of("memory.current"), "no answer");
  files_.learn(path("memory.current"), "1\n", kReadAt);
  EXPECT_EQ(text_of("memory.current"), "40960\n");
}

TEST_F(GroupFilesTest, RepeatsEventsUntilTheyAreCountedAnew) {
  for (const std::string file : {"memory.events", "memory.oom_control"}) {
    publish(0, 7);
    EXPECT_EQ(text_of(file), "no answer") << "it was not read yet";
    files_.learn(path(file), "oom_kill 7\n", kReadAt);
    EXPECT_EQ(text_of(file), "oom_kill 7\n");
    publish(0, 9);
    EXPECT_EQ(text_of(file), "no answer");
    files_.learn(path(file), "oom_kill 8\n", kReadAt);
    EXPECT_EQ(text_of(file), "oom_kill 8\n");
    publish(12345, 9);
    EXPECT_EQ(text_of(file), "no answer") << "another group took its place";
    files_.learn(path(file), "oom_kill 9\n", kReadAt);
    EXPECT_EQ(text_of(file), "no answer") << "the group has no counters";
  }
}

TEST_F(GroupFilesTest, NumbersTheSetsOfGroups) {
  const std::uint64_t first = published_group_set(kReadAt);
  EXPECT_NE(first, 0U);
  publish(0, 5);
  EXPECT_EQ(published_group_set(kReadAt), first) << "the same groups";
  publish(12345);
  EXPECT_NE(published_group_set(kReadAt), first);
  EXPECT_NE(published_group_set(kReadAt), 0U);
  EXPECT_EQ(published_group_set(kReadAt + kCountersLastNs), 0U) << "not read just now";
  publish_group_counters({}, false, kReadAt);
  EXPECT_EQ(published_group_set(kReadAt), 0U) << "not all groups were read";
}

}  // namespace
}  // namespace memstat

#endif
