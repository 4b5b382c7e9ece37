// SPDX-License-Identifier: BSD-2-Clause
// Files of groups that are answered from counters that were just read. A group is a directory with an inode.
#if defined(__linux__)

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <string>

#include "core/kernel/group_files.h"
#include "tests/support/fixtures.h"

namespace memstat {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::int64_t kReadAt = 5'000'000'000;
constexpr std::uint64_t kNoLimit = (~std::uint64_t{0} >> 1U) / kPage;

class GroupFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    publish();
    files_.learn(path("memory.current"), kReadAt);
  }
  void TearDown() override { publish_group_counters({}, kReadAt - kCountersLastNs); }

  [[nodiscard]] std::string path(const std::string& file) const { return directory_.path() + "/" + file; }
  void publish(std::uint64_t other_inode = 0) {
    struct stat status {};
    ASSERT_EQ(::stat(directory_.path().c_str(), &status), 0);
    const std::array<GroupCounters, 2> groups{{{.inode = 1},
                                               {.inode = other_inode != 0 ? other_inode : status.st_ino,
                                                .memory = {.usage = 10, .failures = 11, .limit = 12},
                                                .both = {.usage = 20, .failures = 21, .limit = 22},
                                                .kernel = {.usage = 30, .failures = 31, .limit = kNoLimit},
                                                .sockets = {.usage = 40, .failures = 41, .limit = kNoLimit}}}};
    publish_group_counters(groups, kReadAt);
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
  struct stat status {};
  ASSERT_EQ(::stat(directory_.path().c_str(), &status), 0);
  const std::array<GroupCounters, 1> groups{{{.inode = status.st_ino, .memory = {.limit = kNoLimit}}}};
  publish_group_counters(groups, kReadAt);
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
  fresh.learn(path("memory.stat"), kReadAt);
  fresh.learn(path("memory.current"), kReadAt + kCountersLastNs);
  EXPECT_FALSE(fresh.answer(path("memory.current"), out, kReadAt));
  fresh.learn(path("memory.current"), kReadAt);
  EXPECT_TRUE(fresh.answer(path("memory.current"), out, kReadAt));
}

TEST_F(GroupFilesTest, LearnsTheGroupThatTookAnothersPlace) {
  publish(12345);  // the group that was at this path is gone, and the new one is not learned yet
  EXPECT_EQ(text_of("memory.current"), "no answer");
  publish();
  EXPECT_EQ(text_of("memory.current"), "no answer");
  files_.learn(path("memory.current"), kReadAt);
  EXPECT_EQ(text_of("memory.current"), "40960\n");
}

}  // namespace
}  // namespace memstat

#endif
