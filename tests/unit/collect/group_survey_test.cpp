// SPDX-License-Identifier: BSD-2-Clause
// Which groups a read looks at, where there are more than it reads whole. The trees are made by the test.
#include "core/collect/group_survey.h"

#include "core/kernel/forwarding_view.h"
#include "tests/support/fixtures.h"
#include "tests/support/result_checks.h"
#include "tests/support/rooted_kernel_view.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

class LiveView final : public ForwardingKernelView {
 public:
  using ForwardingKernelView::ForwardingKernelView;
  [[nodiscard]] bool reads_this_machine() const override { return true; }
};

class GroupSurveys : public testing::Test {
 protected:
  void SetUp() override {
    if (!RootedKernelView::has_live_view()) GTEST_SKIP() << "this system has no live view";
    view_ = std::make_unique<RootedKernelView>(directory_.path());
    ASSERT_TRUE(hierarchy_.root.assign(kControlGroupDirectory));
    write("/cgroup.subtree_control", "memory\n");
  }
  void write(const std::string& path, const std::string& text) { write_text(directory_.file("sys/fs/cgroup" + path), text); }
  void make(const std::string& group, const std::string& usage) {
    write(group + "/cgroup.subtree_control", "memory\n");
    write(group + "/memory.current", usage + "\n");
    write(group + "/memory.max", "max\n");
    kill(group, 0);
  }
  void kill(const std::string& group, int count) {
    write(group + "/memory.events", "oom_kill " + std::to_string(count) + "\n");
  }
  Result<void> survey(bool are_kills_new = false) {
    LiveView live(*view_);
    const BaseDirectory near;
    ++read_;
    GroupSurvey survey(live, bounds_, hierarchy_, near, read_ > 1, read_, state_, file_);
    if (auto listed = survey.list(); !listed) return listed;
    if (auto chosen = survey.choose(are_kills_new); !chosen) return chosen;
    left_out_ = survey.left_out();
    return {};
  }
  std::string chosen() {
    std::string words;
    for (const std::uint32_t index : state_.order) {
      FixedPath path;
      if (state_.tree[index].is_chosen && state_.tree.append_path(index, path))
        words += (words.empty() ? "" : " ") + std::string(path.view());
    }
    return words;
  }
  std::string words() {
    if (const auto surveyed = survey(); !surveyed) return to_string(surveyed.error());
    return chosen() + ", " + std::to_string(left_out_.groups) + " of " + std::to_string(left_out_.bytes) + " left out";
  }

  TemporaryDirectory directory_;
  std::unique_ptr<RootedKernelView> view_;
  ControlGroupHierarchy hierarchy_;
  ControlGroupBounds bounds_{.depth = 32, .most_groups = 2};
  GroupSurveyState state_;
  GroupsLeftOut left_out_;
  std::uint32_t read_ = 0;
  Buffer file_;
};

TEST_F(GroupSurveys, CountBytesOfGroupsLeftOutOnce) {
  make("/a", "100000");
  make("/b", "5000");
  make("/b/x", "4000");
  make("/c", "90000");
  EXPECT_EQ(words(), "/a /c, 2 of 5000 left out") << "b includes x";
  bounds_.most_groups = 4;
  EXPECT_EQ(words(), "/a /b /c /b/x, 0 of 0 left out");
}

TEST_F(GroupSurveys, SeeAGroupThatIsLeftOutGrow) {
  for (int i = 0; i < 6; ++i) make("/g" + std::to_string(i), std::to_string(1000000 + i));
  EXPECT_EQ(words(), "/g4 /g5, 4 of 4000006 left out");
  write("/g1/memory.current", "9000000\n");
  EXPECT_EQ(words(), "/g1 /g5, 4 of 4000009 left out");
}

TEST_F(GroupSurveys, SeeAKillInAGroupThatIsLeftOut) {
  for (int i = 0; i < 6; ++i) make("/g" + std::to_string(i), std::to_string(1000000 + i));
  ASSERT_TRUE(survey());
  kill("/g0", 1);
  ASSERT_TRUE(survey());
  EXPECT_EQ(chosen(), "/g4 /g5") << "nothing says that there was one";
  ASSERT_TRUE(survey(true));
  EXPECT_EQ(chosen(), "/g0 /g5");
}

TEST_F(GroupSurveys, LookAtManyGroupsInTurn) {
  constexpr std::size_t kGroups = 600;
  for (std::size_t i = 0; i < kGroups; ++i) write("/g" + std::to_string(i) + "/memory.current", "4096\n");
  std::size_t usages = 0;
  std::size_t listings = 0;
  std::set<std::string> seen;
  view_->before = [&](std::string_view path) {
    const bool is_usage = path.ends_with("/memory.current");
    if (is_usage) seen.emplace(path);
    usages += is_usage ? 1U : 0U;
    listings += path.find("/memory.") == std::string_view::npos && path.find("/cgroup.") == std::string_view::npos ? 1U : 0U;
  };
  ASSERT_TRUE(survey());
  EXPECT_LE(usages, 2U * kGroups + 1U) << "when they are found, and at the first look";
  EXPECT_EQ(listings, 1U + kGroups);
  for (int read = 0; read < 8; ++read) ASSERT_TRUE(survey());
  seen.clear();
  usages = listings = 0;
  for (int read = 0; read < 16; ++read) ASSERT_TRUE(survey());
  EXPECT_LE(usages, 16U * (kGroups / 16 + 2));
  EXPECT_EQ(seen.size(), kGroups - bounds_.most_groups) << "all of them";
  EXPECT_LE(listings, 8U * (kGroups / 5 + 2)) << "the root each time, the others once in five listings";
}

TEST_F(GroupSurveys, ForgetGroupsThatAreRemoved) {
  for (const char* group : {"/a", "/b", "/b/x", "/c"}) make(group, "4096");
  EXPECT_EQ(words(), "/a /b, 2 of 8192 left out") << "c, and x in b";
  std::filesystem::remove_all(directory_.file("sys/fs/cgroup/c"));
  ASSERT_TRUE(survey());
  EXPECT_EQ(words(), "/a /b, 1 of 4096 left out");
}

}  // namespace
}  // namespace memstat
