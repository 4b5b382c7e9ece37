// SPDX-License-Identifier: BSD-2-Clause
// The groups that the walk reads, in trees made by the test: location of hierarchies, depth, number, names, and groups that
// come and go meanwhile.
#include "core/collect/cgroup_walk.h"

#include "core/collect/file_bundle.h"
#include "core/kernel/forwarding_view.h"
#include "tests/support/fixtures.h"
#include "tests/support/result_checks.h"
#include "tests/support/rooted_kernel_view.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

constexpr const char* kFiles2[] = {"memory.current", "memory.max", "memory.high", "memory.events", "memory.stat"};
constexpr const char* kFiles1[] = {
    "memory.usage_in_bytes",      "memory.limit_in_bytes",         "memory.failcnt", "memory.oom_control", "memory.stat",
    "memory.kmem.usage_in_bytes", "memory.kmem.tcp.usage_in_bytes"};

class ControlGroups : public testing::Test {
 protected:
  void SetUp() override {
    if (!RootedKernelView::has_live_view()) GTEST_SKIP() << "this system has no live view";
    view_ = std::make_unique<RootedKernelView>(directory_.path());
  }
  void write(const std::string& path, const std::string& text) { write_text(directory_.file("sys/fs/cgroup" + path), text); }
  void remove(const std::string& path) { std::filesystem::remove_all(directory_.file("sys/fs/cgroup" + path)); }
  void make_root2(const std::string& root = "") {
    write(root + "/cgroup.controllers", "cpuset cpu io memory hugetlb pids rdma misc\n");
    write(root + "/cgroup.subtree_control", "cpu memory pids\n");
    write(root + "/memory.stat", "anon 1\n");
  }
  void make2(const std::string& group) {
    write(group + "/cgroup.subtree_control", "memory\n");
    for (const char* file : kFiles2) write(group + "/" + file, "1\n");
  }
  void make1(const std::string& group) {
    for (const char* file : kFiles1) write(group + "/" + file, "1\n");
    write(group + "/tasks", "");
  }
  Result<void> read() { return read_control_groups(*view_, bounds_, state_, bundle_); }
  /// "root: /group=files /group=files, N left out".
  std::string words() {
    if (const auto result = read(); !result) return to_string(result.error());
    FileBundleReader records(bundle_.view());
    std::string_view name;
    std::string_view content;
    std::string words;
    std::string group = "none";
    std::size_t files = 0;
    const auto end_group = [&] {
      if (files != 0) words += " " + (group.empty() ? "/" : group) + "=" + std::to_string(files);
      files = 0;
    };
    EXPECT_TRUE(records.next(name, content));
    words = std::string(name.substr(kControlGroupDirectory.size())) + " v" + std::string(content.substr(0, 1)) + ":";
    while (records.next(name, content) && !name.empty()) {
      const std::string of(name.substr(0, name.rfind('/')));
      if (of != group) end_group();
      group = of;
      ++files;
    }
    end_group();
    EXPECT_TRUE(name.empty()) << "no end";
    EXPECT_FALSE(records.next(name, content));
    return words + ", " + std::to_string(state_.left_out.groups) + " left out";
  }

  TemporaryDirectory directory_;
  std::unique_ptr<RootedKernelView> view_;
  std::function<bool(std::string_view)> matches_;
  ControlGroupBounds bounds_{.depth = 2, .most_groups = 100, .has_parts = true, .matches = &matches_};
  Buffer bundle_;
  ControlGroupState state_;
};

TEST_F(ControlGroups, OfVersion2AreReadLevelByLevelInTheOrderOfTheirNames) {
  make_root2();
  for (const char* group : {"/b", "/a", "/b/x", "/a/z", "/a/y", "/a/y/deep", "/a b\"\n\xFF"}) make2(group);
  EXPECT_EQ(words(), " v2: /a=5 /a b\"\n\xFF=5 /b=5 /a/y=5 /a/z=5 /b/x=5, 0 left out");
  EXPECT_EQ(words(), " v2: /a=5 /a b\"\n\xFF=5 /b=5 /a/y=5 /a/z=5 /b/x=5, 0 left out") << "again";
}

TEST_F(ControlGroups, ThreadsAreReadWhereTheirControllerWasHandedDown) {
  make_root2();
  for (const char* group : {"/a", "/b"}) make2(group);
  write("/b/pids.current", "1\n");
  write("/b/pids.max", "max\n");
  EXPECT_EQ(words(), " v2: /a=5 /b=7, 0 left out");
  remove("/b/pids.max");
  EXPECT_EQ(words(), " v2: /a=5 /b=6, 0 left out");
  state_ = {};
  write("/cgroup.controllers", "memory\n");
  EXPECT_EQ(words(), " v2: /a=5 /b=5, 0 left out") << "of a kernel without the controller";
}

TEST_F(ControlGroups, AreFoundWhereverTheMemoryControllerIs) {
  EXPECT_EQ(read().error().code, ErrorCode::kNotPresent);
  std::filesystem::create_directories(directory_.file("sys/fs/cgroup"));
  EXPECT_EQ(read().error().code, ErrorCode::kNotPresent);
  EXPECT_NE(read().error().detail.find("mounted"), std::string::npos);
  // In addition to version 1 without the memory controller ("hybrid").
  write("/cpu/cpu.shares", "1\n");
  make_root2("/unified");
  make2("/unified/a");
  EXPECT_EQ(words(), "/unified v2: /a=5, 0 left out");
  // Bound to version 1 instead, together with another controller.
  remove("/unified");
  write("/unified/cgroup.controllers", "hugetlb\n");
  make1("/cpu,memory");
  make1("/cpu,memory/b");
  EXPECT_EQ(words(), "/cpu,memory v1: /=7 /b=7, 0 left out") << "found anew when the old one is gone";
  remove("/cpu,memory");
  EXPECT_EQ(read().error().code, ErrorCode::kNotPresent);
  make1("/memory");
  EXPECT_EQ(words(), "/memory v1: /=7, 0 left out");
  // A container: the root is a group like any other.
  remove("/memory");
  make_root2();
  make2("");
  make2("/a");
  EXPECT_EQ(words(), " v2: /=5 /a=5, 0 left out");
}

TEST_F(ControlGroups, WithoutMemoryControllerAreNoneAndNotLookedInto) {
  make_root2();
  make2("/with");
  write("/without/cgroup.procs", "");
  make2("/without/below");
  make2("/with/below");
  write("/with/cgroup.subtree_control", "cpu pids\n");
  std::set<std::string> seen;
  view_->before = [&](std::string_view path) { seen.emplace(path); };
  EXPECT_EQ(words(), " v2: /with=5, 0 left out");
  EXPECT_EQ(seen.count("/sys/fs/cgroup/without/below/memory.current"), 0U);
  EXPECT_EQ(seen.count("/sys/fs/cgroup/with/below/memory.current"), 0U);
  write("/with/cgroup.subtree_control", "memory\n");
  EXPECT_EQ(words(), " v2: /with=5 /with/below=5, 0 left out");
}

TEST_F(ControlGroups, AreReadAsDeepAsWanted) {
  make_root2();
  std::string group;
  for (int depth = 1; depth <= 5; ++depth) make2(group += "/g");
  bounds_.depth = 0;
  EXPECT_EQ(words(), " v2:, 0 left out");
  bounds_.depth = 1;
  EXPECT_EQ(words(), " v2: /g=5, 0 left out");
  bounds_.depth = 16;
  EXPECT_EQ(words(), " v2: /g=5 /g/g=5 /g/g/g=5 /g/g/g/g=5 /g/g/g/g/g=5, 0 left out");
}

TEST_F(ControlGroups, AreReadWhereTheirPathMatches) {
  make1("/memory");
  for (const char* group : {"/memory/a", "/memory/a/b", "/memory/c"}) make1(group);
  matches_ = [](std::string_view path) { return path == "/a/b" || path == "/"; };
  EXPECT_EQ(words(), "/memory v1: /=7 /a/b=7, 0 left out") << "below one that does not match";
  matches_ = [](std::string_view) { return false; };
  EXPECT_EQ(words(), "/memory v1:, 0 left out");
  view_->failures["/sys/fs/cgroup/memory/memory.usage_in_bytes"] = EIO;  // nothing is searched again
  EXPECT_EQ(words(), "/memory v1:, 0 left out");
}

TEST_F(ControlGroups, BeyondTheMostAreCounted) {
  make_root2();
  for (const char* group : {"/c", "/a", "/b", "/a/x", "/d"}) make2(group);
  bounds_.most_groups = 2;
  EXPECT_EQ(words(), " v2: /a=5 /b=5, 3 left out") << "c, d and a/x";
  bounds_.most_groups = 5;
  EXPECT_EQ(words(), " v2: /a=5 /b=5 /c=5 /d=5 /a/x=5, 0 left out");
}

TEST_F(ControlGroups, WithoutSomeOfTheirFilesHaveTheOthers) {
  make1("/memory");
  make1("/memory/a");
  remove("/memory/memory.kmem.usage_in_bytes");  // a kernel without accounting of its memory
  EXPECT_EQ(words(), "/memory v1: /=5 /a=5, 0 left out");
  remove("/memory/a/memory.oom_control");
  EXPECT_EQ(words(), "/memory v1: /=5 /a=4, 0 left out");
  bounds_.has_parts = false;
  EXPECT_EQ(words(), "/memory v1: /=4 /a=3, 0 left out");
}

TEST_F(ControlGroups, ThatGoAwayMeanwhileLeaveNothing) {
  make_root2();
  make2("/b");
  for (const char* file : kFiles2) {
    make2("/a");
    make2("/a/below");
    view_->before = [&, path = "/sys/fs/cgroup/a/" + std::string(file)](std::string_view about) {
      if (about == path) remove("/a");
    };
    EXPECT_EQ(words(), " v2: /b=5, 0 left out") << file;
  }
  for (const char* listed : {"/sys/fs/cgroup/a", "/sys/fs/cgroup/a/cgroup.subtree_control"}) {
    make2("/a");
    make2("/a/below");
    view_->before = [&, listed](std::string_view about) {
      if (about == listed) remove("/a");
    };
    EXPECT_EQ(words(), " v2: /b=5, 0 left out") << listed;
  }
}

TEST_F(ControlGroups, ThatMayNotBeReadAreLeftOutAndCounted) {
  make_root2();
  for (const char* group : {"/a", "/b", "/b/x"}) make2(group);
  const auto refuse = [&](const std::string& path) { view_->failures = {{"/sys/fs/cgroup" + path, EACCES}}; };
  refuse("/b/memory.current");
  EXPECT_EQ(words(), " v2: /a=5, 1 left out");
  refuse("/b/memory.max");
  EXPECT_EQ(words(), " v2: /a=5 /b=4 /b/x=5, 0 left out");
  refuse("/b");
  EXPECT_EQ(words(), " v2: /a=5 /b=5, 1 left out");
  refuse("/b/cgroup.subtree_control");
  EXPECT_EQ(words(), " v2: /a=5 /b=5 /b/x=5, 0 left out");
  refuse("");
  EXPECT_EQ(read().error().code, ErrorCode::kPermission);
}

TEST_F(ControlGroups, OfAKernelThatFailsAreAnError) {
  make_root2();
  for (const char* group : {"/a", "/a/x"}) make2(group);
  for (const char* path :
       {"", "/a/memory.current", "/a/memory.stat", "/a", "/a/cgroup.subtree_control", "/a/x/memory.max"}) {
    ASSERT_TRUE(read());
    view_->failures = {{"/sys/fs/cgroup" + std::string(path), EIO}};
    EXPECT_TRUE(fails(read(), {.path = "/sys/fs/cgroup" + std::string(path), .system_errno = EIO})) << path;
    view_->failures.clear();
    EXPECT_EQ(words(), " v2: /a=5 /a/x=5, 0 left out");
  }
}

/// A kernel in which every directory is a group with the same names below.
class Endless final : public KernelView {
 public:
  explicit Endless(std::string names) : names_(std::move(names)) {}
  [[nodiscard]] OperatingSystem os() const override { return OperatingSystem::kLinux; }
  [[nodiscard]] std::uint64_t page_size() const override { return 4096; }
  [[nodiscard]] std::uint32_t cpu_count() const override { return 1; }
  Result<void> read_file(std::string_view path, Buffer& out) override {
    if (!path.ends_with("/memory.usage_in_bytes")) return system_error(path, ENOENT);
    out.assign("1\n");
    return {};
  }
  Result<void> list_directories(std::string_view, Buffer& names) override {
    names.assign(names_);
    ++listings;
    return {};
  }

  int listings = 0;

 private:
  std::string names_;
};

TEST_F(ControlGroups, WithNamesTooLongForAPathAreLeftOut) {
  Endless endless(std::string(1000, 'n') + '\0');
  bounds_.depth = 16;
  ASSERT_TRUE(read_control_groups(endless, bounds_, state_, bundle_));
  EXPECT_EQ(state_.left_out.groups, 1U);
  EXPECT_EQ(endless.listings, 5) << "of the root and four levels of 1001 bytes";
}

TEST_F(ControlGroups, InATreeWithoutEndAreVisitedUpToABound) {
  std::string names;
  for (int i = 0; i < 100; ++i) names += std::to_string(i) + '\0';
  Endless endless(names);
  bounds_.depth = 16;
  bounds_.most_groups = 20000;
  ASSERT_TRUE(read_control_groups(endless, bounds_, state_, bundle_));
  EXPECT_EQ(endless.listings, 1 + 16384);
  FileBundleReader records(bundle_.view());
  std::string_view name;
  std::string_view content;
  int groups = 0;
  while (records.next(name, content) && (groups == 0 || !name.empty())) ++groups;
  EXPECT_EQ(groups, 2 + 16384) << "the head, the root and the groups";
  EXPECT_EQ(state_.left_out.groups, 100U * (1 + 16384) - 16384U) << "all others that were seen";
}

/// As on this machine: reads of rarely changing files may be left out.
class LiveRootedView final : public ForwardingKernelView {
 public:
  using ForwardingKernelView::ForwardingKernelView;
  [[nodiscard]] bool reads_this_machine() const override { return true; }
  [[nodiscard]] std::uint64_t group_generation() override { return set; }
  std::uint64_t set = 0;
};

TEST_F(ControlGroups, PressureAndSwapAreReadInTurnAndElseAsTheyWere) {
  make_root2();
  make2("/a");
  make2("/b");
  LiveRootedView live(*view_);
  std::size_t reads = 0;
  view_->before = [&](std::string_view path) { reads += path.ends_with("/memory.pressure") ? 1U : 0U; };
  for (const char* group : {"/a", "/b"}) {
    write(std::string(group) + "/memory.pressure", "some total=0\n");
    write(std::string(group) + "/cgroup.stat", "nr_dying_descendants 0\n");
  }
  for (int read = 0; read < 8; ++read) {
    ASSERT_TRUE(read_control_groups(live, bounds_, state_, bundle_));
    EXPECT_NE(bundle_.view().find("/b/memory.pressure"), std::string_view::npos) << read;
    EXPECT_NE(bundle_.view().find("/a/cgroup.stat"), std::string_view::npos) << read;
    EXPECT_EQ(bundle_.view().find("memory.swap"), std::string_view::npos) << "this kernel has no swap";
  }
  EXPECT_EQ(reads, 2U + 2U * 2U) << "all at first, then each twice in eight reads";
  bounds_.has_parts = false;
  ASSERT_TRUE(read_control_groups(live, bounds_, state_, bundle_));
  EXPECT_EQ(bundle_.view().find("/b/memory.pressure"), std::string_view::npos);
}

TEST_F(ControlGroups, TheHighestUsageIsReadAtFirstAndAfterKillsOnly) {
  make_root2();
  for (const char* group : {"/a", "/b"}) {
    make2(group);
    write(std::string(group) + "/memory.peak", "7\n");
  }
  write("/b/memory.max", "max\n");
  write("/b/memory.high", "max\n");
  const auto set_kills = [&](int kills) {
    write_text(directory_.file("proc/vmstat"), "oom_kill " + std::to_string(kills) + "\n");
  };
  set_kills(5);
  LiveRootedView live(*view_);
  std::size_t reads = 0;
  view_->before = [&](std::string_view path) { reads += path.ends_with("/memory.peak") ? 1U : 0U; };
  const auto read_live = [&] { ASSERT_TRUE(read_control_groups(live, bounds_, state_, bundle_)); };
  read_live();
  EXPECT_EQ(reads, 1U) << "of the group with a limit";
  for (int i = 0; i < 3; ++i) read_live();  // a kill before the first read may not be in its group yet
  const std::size_t calm = reads;
  for (int i = 0; i < 20; ++i) read_live();
  EXPECT_EQ(reads, calm);
  EXPECT_NE(bundle_.view().find("/a/memory.peak"), std::string_view::npos) << "as it was";
  EXPECT_EQ(bundle_.view().find("/b/memory.peak"), std::string_view::npos);
  write("/a/memory.peak", "9\n");
  set_kills(6);
  read_live();
  EXPECT_EQ(reads, calm + 1);
  EXPECT_NE(bundle_.view().find("9\n"), std::string_view::npos);
}

TEST_F(ControlGroups, FilesThatNoGroupHasAreLookedForOnce) {
  make_root2();
  make2("/a");
  make2("/b");
  write("/b/memory.pressure", "some total=0\n");
  std::size_t swap = 0;
  std::size_t pressure = 0;
  view_->before = [&](std::string_view path) {
    swap += path.ends_with("/memory.swap.max") ? 1U : 0U;
    pressure += path.ends_with("/memory.pressure") ? 1U : 0U;
  };
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(read());
  EXPECT_EQ(swap, 2U) << "in each group of the first read";
  EXPECT_EQ(pressure, 6U) << "one group has it";
}

class LiveControlGroups : public ControlGroups {
 protected:
  /// Of the next read.
  std::string content_of(std::string_view file) {
    LiveRootedView live(*view_);
    live.set = set_;
    EXPECT_TRUE(read_control_groups(live, bounds_, state_, bundle_));
    std::string_view name;
    std::string_view content;
    for (FileBundleReader records(bundle_.view()); records.next(name, content);) {
      if (name == file) return std::string(content);
    }
    return "none";
  }
  /// The number of reads of a file in this many reads of all groups.
  int reads_of(const std::string& file, int reads) {
    int seen = 0;
    view_->before = [&, path = "/sys/fs/cgroup" + file](std::string_view about) { seen += about == path ? 1 : 0; };
    for (int i = 0; i < reads; ++i) EXPECT_NE(content_of("/a/memory.stat"), "none");
    view_->before = nullptr;
    return seen;
  }
  void count_kills(const std::string& kills) { write_text(directory_.file("proc/vmstat"), "oom_kill " + kills + "\n"); }
  std::uint64_t set_ = 0;
};

TEST_F(LiveControlGroups, TheirLimitsAreReadAtEachFourthReadOnly) {
  make_root2();
  make2("/a");
  make2("/b");
  EXPECT_EQ(content_of("/b/memory.max"), "1\n");
  write("/b/memory.max", "2\n");
  write("/b/memory.current", "2\n");
  EXPECT_EQ(content_of("/b/memory.current"), "2\n");
  EXPECT_EQ(content_of("/b/memory.max"), "1\n");
  EXPECT_EQ(content_of("/b/memory.max"), "2\n") << "the fourth";
  remove("/a");
  make2("/c");
  write("/c/memory.max", "3\n");
  EXPECT_EQ(content_of("/a/memory.max"), "none") << "at once";
  EXPECT_EQ(content_of("/c/memory.max"), "3\n") << "of a new group when it is listed";
}

TEST_F(LiveControlGroups, AreListedAtEachSecondRead) {
  make_root2();
  make2("/a");
  for (int round = 0; round < 3; ++round) {
    const std::string fresh = "/new" + std::to_string(round);
    make2(fresh);
    int reads = 1;
    while (content_of(fresh + "/memory.max") == "none") ASSERT_LE(++reads, 2);
    EXPECT_NE(content_of(fresh + "/memory.max"), "none") << "it stays";
    remove(fresh);
    EXPECT_EQ(content_of(fresh + "/memory.max"), "none") << "it was removed, which is noticed at once";
    EXPECT_NE(content_of("/a/memory.max"), "none");
  }
}

TEST_F(LiveControlGroups, AreNotListedWhileTheyAreTheSame) {
  make_root2();
  make2("/a");
  set_ = 1;
  ASSERT_NE(content_of("/a/memory.max"), "none");
  ASSERT_NE(content_of("/a/memory.max"), "none");
  std::size_t listings = 0;
  view_->before = [&](std::string_view path) { listings += path == kControlGroupDirectory ? 1U : 0U; };
  for (int read = 0; read < 16; ++read) ASSERT_NE(content_of("/a/memory.max"), "none");
  EXPECT_EQ(listings, 1U) << "a group of version 1 may have been renamed";
  // A new one is in the set before its directory is there, whether or not that read lists directories.
  for (const std::string fresh : {"/b", "/c"}) {
    ++set_;
    ASSERT_NE(content_of("/a/memory.max"), "none");
    make2(fresh);
    ASSERT_NE(content_of("/a/memory.max"), "none");
    EXPECT_NE(content_of(fresh + "/memory.max"), "none");
  }
}

TEST_F(LiveControlGroups, TheirPartsAreReadAtEachFourthRead) {
  make_root2();
  make2("/a");
  EXPECT_EQ(reads_of("/a/memory.stat", 1), 1) << "the first read";
  EXPECT_EQ(reads_of("/a/memory.stat", 8), 2);
  state_ = {};
  bundle_ = {};
  EXPECT_EQ(reads_of("/a/memory.stat", 1), 1) << "a first read";
}

TEST_F(LiveControlGroups, ThatAreNearlyFullAndMoveHaveFreshParts) {
  make_root2();
  make2("/a");
  const auto parts_of = [&](const std::string& usage) {
    write("/a/memory.current", usage);
    write("/a/memory.stat", "anon " + usage);
    return content_of("/a/memory.stat");
  };
  write("/a/memory.max", "1000\n");
  write("/a/memory.high", "max\n");
  ASSERT_EQ(parts_of("1\n"), "anon 1\n");
  EXPECT_TRUE(state_.has_limits);
  int fresh = 0;
  for (const std::string usage : {"801\n", "802\n", "803\n", "804\n"}) fresh += parts_of(usage) == "anon " + usage ? 1 : 0;
  EXPECT_EQ(fresh, 1) << "there is room";
  for (const std::string usage : {"901\n", "902\n", "903\n", "904\n"}) EXPECT_EQ(parts_of(usage), "anon " + usage);
}

TEST_F(LiveControlGroups, OfVersion1KillsAreReadWhenTheKernelHasCountedOneAndElseWithinFourReads) {
  const std::string kills = "/memory/a/memory.oom_control";
  make1("/memory");
  make1("/memory/a");
  count_kills("1");
  static_cast<void>(reads_of(kills, 3));
  count_kills("2");
  EXPECT_EQ(reads_of(kills, 2), 2) << "the group counts after the kernel";
  EXPECT_EQ(reads_of(kills, 8), 2);
  write_text(directory_.file("proc/vmstat"), "nr_free_pages 1\n");  // before 4.13
  static_cast<void>(reads_of(kills, 1));
  EXPECT_EQ(reads_of(kills, 3), 3);
}

TEST_F(LiveControlGroups, OfVersion1LimitsAndHitsOfSwapAreReadAtEachEighthRead) {
  make1("/memory");
  make1("/memory/a");
  write("/memory/a/memory.memsw.usage_in_bytes", "1\n");
  write("/memory/a/memory.memsw.failcnt", "1\n");
  ASSERT_EQ(content_of("/a/memory.memsw.failcnt"), "1\n");
  EXPECT_EQ(reads_of("/memory/a/memory.memsw.failcnt", 16), 2);
  EXPECT_EQ(reads_of("/memory/a/memory.memsw.usage_in_bytes", 16), 4);
}

class SleepingControlGroups : public LiveControlGroups {
 protected:
  static constexpr const char* kGroup = "/memory/a";

  void SetUp() override {
    LiveControlGroups::SetUp();
    count_kills("1");
    make1("/memory");
    make1(kGroup);
    limit("9223372036854771712\n");
  }
  void limit(const std::string& bytes) { write(std::string(kGroup) + "/memory.limit_in_bytes", bytes); }
  void use(const std::string& bytes) { write(std::string(kGroup) + "/memory.usage_in_bytes", bytes); }
  int reads_of(const std::string& file, int reads) { return LiveControlGroups::reads_of(kGroup + ("/" + file), reads); }
};

TEST_F(SleepingControlGroups, AreAskedForTheirUsageAtEachSecondReadAndForTheRestAtEachSixteenth) {
  EXPECT_EQ(reads_of("memory.usage_in_bytes", 9), 1 + 9) << "once more when it is found";
  EXPECT_EQ(reads_of("memory.usage_in_bytes", 32), 16);
  for (const char* file : {"memory.stat", "memory.limit_in_bytes", "memory.failcnt", "memory.oom_control"}) {
    EXPECT_EQ(reads_of(file, 32), 2) << file;
  }
}

TEST_F(SleepingControlGroups, WakeWithinTwoReadsOnceTheyUseMore) {
  static_cast<void>(reads_of("memory.stat", 20));
  use("2\n");
  write(std::string(kGroup) + "/memory.stat", "total_rss 2\n");
  int reads = 1;
  while (content_of("/a/memory.usage_in_bytes") != "2\n") ASSERT_LE(++reads, 2);
  const std::string_view bundle = bundle_.view();
  EXPECT_NE(bundle.find("total_rss 2\n"), std::string_view::npos) << "its parts are of the same moment";
  EXPECT_EQ(reads_of("memory.usage_in_bytes", 8), 8);
}

TEST_F(SleepingControlGroups, AreReadOnceTheKernelCountsAKill) {
  static_cast<void>(reads_of("memory.stat", 20));
  count_kills("2");
  EXPECT_EQ(reads_of("memory.oom_control", 2), 2) << "the group counts after the kernel";
  EXPECT_LE(reads_of("memory.oom_control", 8), 1) << "it continues to sleep";
}

TEST_F(SleepingControlGroups, AreNoneThatHaveALimit) {
  limit("4096\n");
  static_cast<void>(reads_of("memory.stat", 20));
  EXPECT_EQ(reads_of("memory.usage_in_bytes", 16), 16);
  remove("/memory");
  make_root2();
  make2("/a");
  write("/a/memory.max", "max\n");
  for (int i = 0; i < 20; ++i) ASSERT_NE(content_of("/a/memory.high"), "none");
  write("/a/memory.current", "2\n");
  EXPECT_EQ(content_of("/a/memory.current"), "2\n") << "memory.high is one";
}

TEST_F(LiveControlGroups, OfVersion1WithoutALimitCountNoHits) {
  make1("/memory");
  make1("/memory/a");
  EXPECT_EQ(content_of("/a/memory.failcnt"), "1\n");
  EXPECT_EQ(reads_of("/memory/a/memory.failcnt", 4), 4) << "it has a limit";
  write("/memory/a/memory.limit_in_bytes", "9223372036854771712\n");
  for (int reads = 0; content_of("/a/memory.limit_in_bytes") == "1\n"; ++reads) ASSERT_LT(reads, 4);
  EXPECT_EQ(reads_of("/memory/a/memory.failcnt", 16), 2) << "each eighth";
}

TEST_F(LiveControlGroups, OfVersion1CountMemoryOfSocketsOnceItWasLimited) {
  constexpr std::string_view kSockets = "/memory.kmem.tcp.usage_in_bytes";
  make1("/memory");
  write("/memory/memory.kmem.tcp.usage_in_bytes", "0\n");
  EXPECT_EQ(content_of(kSockets), "0\n");
  write("/memory/memory.kmem.tcp.usage_in_bytes", "4096\n");
  int reads = 1;
  while (content_of(kSockets) != "4096\n") ASSERT_LE(++reads, 4);
  write("/memory/memory.kmem.tcp.usage_in_bytes", "8192\n");
  EXPECT_EQ(content_of(kSockets), "8192\n");
}

}  // namespace
}  // namespace memstat
