// SPDX-License-Identifier: BSD-2-Clause
// The tree of groups as directories come and go, and which groups are chosen.
#include "core/collect/group_tree.h"

#include <algorithm>

#include "tests/support/test.h"

namespace memstat {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;

class GroupTrees : public testing::Test {
 protected:
  GroupTrees() { tree_.clear(); }
  void set_below(std::uint32_t parent, const std::vector<std::string_view>& names) { tree_.set_below(parent, names); }
  /// All groups, each after its parent.
  std::vector<std::uint32_t> order() const {
    std::vector<std::uint32_t> order = {GroupTree::kRoot};
    for (std::size_t i = 0; i < order.size(); ++i) {
      for (std::uint32_t below = tree_[order[i]].first_below; below != KnownGroup::kNone; below = tree_[below].next)
        order.push_back(below);
    }
    return order;
  }
  std::string path(std::uint32_t index) const {
    FixedPath path;
    return tree_.append_path(index, path) ? std::string(path.view()) : "too long";
  }
  std::uint32_t at(std::string_view wanted) const {
    for (const std::uint32_t index : order()) {
      if (path(index) == wanted) return index;
    }
    ADD_FAILURE() << "no group " << wanted;
    return GroupTree::kRoot;
  }
  std::string words() const {
    std::string words;
    for (const std::uint32_t index : order())
      words += (words.empty() ? "" : " ") + ("/" + path(index)).substr(index == 0 ? 0 : 1);
    return words;
  }

  GroupTree tree_;
};

TEST_F(GroupTrees, KeepWhatIsKnownOfGroupsThatStay) {
  set_below(0, {"a", "b", "d"});
  set_below(at("/b"), {"x", "y"});
  EXPECT_EQ(words(), "/ /a /b /d /b/x /b/y");
  tree_[at("/b/y")].usage = 7;
  const std::uint32_t kept = at("/b/y");
  set_below(0, {"aa", "b", "c"});
  EXPECT_EQ(words(), "/ /aa /b /c /b/x /b/y");
  EXPECT_EQ(at("/b/y"), kept);
  EXPECT_EQ(tree_[kept].usage, 7U);
  EXPECT_EQ(tree_[kept].depth, 2U);
}

TEST_F(GroupTrees, ForgetGroupsThatAreGoneWithAllBelowThem) {
  set_below(0, {"a", "b"});
  set_below(at("/a"), {"x"});
  set_below(at("/a/x"), {"deep"});
  const std::size_t end = tree_.end_index();
  set_below(0, {"b"});
  EXPECT_EQ(words(), "/ /b");
  set_below(at("/b"), {"1", "2", "3"});
  EXPECT_EQ(tree_.end_index(), end) << "their places are used again";
  EXPECT_EQ(tree_[at("/b/1")].usage, 0U);
  set_below(0, {});
  EXPECT_EQ(words(), "/");
}

TEST_F(GroupTrees, CountNamesForWhichThereIsNoRoom) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < GroupTree::kMaxGroups + 3; ++i) names.push_back(std::to_string(100'000 + i));
  const std::vector<std::string_view> views(names.begin(), names.end());
  set_below(0, views);
  EXPECT_EQ(tree_[0].unlisted, 3U);
  EXPECT_EQ(tree_.end_index(), 1 + GroupTree::kMaxGroups);
  set_below(0, {"a"});
  EXPECT_EQ(tree_[0].unlisted, 0U);
  EXPECT_EQ(words(), "/ /a");
}

TEST_F(GroupTrees, HaveNoPathForNamesThatAreTooLong) {
  set_below(0, {std::string(3000, 'n')});
  set_below(1, {std::string(3000, 'm')});
  EXPECT_EQ(path(1), "/" + std::string(3000, 'n'));
  EXPECT_EQ(path(2), "too long");
}

/// Ten containers in each of three pods, without figures.
class ChosenGroups : public GroupTrees {
 protected:
  ChosenGroups() {
    set_below(0, {"pods"});
    set_below(at("/pods"), {"p1", "p2", "p3"});
    for (const char* pod : {"/pods/p1", "/pods/p2", "/pods/p3"})
      set_below(at(pod), {"c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9"});
    for (const std::uint32_t index : order()) tree_[index].presence = KnownGroup::Presence::kPresent;
    tree_[0].presence = KnownGroup::Presence::kAbsent;
  }
  void use(std::string_view group, std::uint64_t bytes) {
    std::uint32_t index = at(group);
    for (; index != GroupTree::kRoot; index = tree_[index].parent) {
      tree_[index].usage += bytes;
      tree_[index].slow_usage += bytes;
    }
  }
  std::string chosen(std::uint64_t most, std::uint32_t read = 1000) {
    choose_groups(tree_, order(), most, read, scratch_);
    std::string words;
    for (const std::uint32_t index : order()) {
      if (tree_[index].is_chosen) words += (words.empty() ? "" : " ") + path(index);
    }
    return words;
  }
  GroupWeights scratch_;
};

TEST_F(ChosenGroups, AreAllWhileThereIsRoom) {
  EXPECT_EQ(std::ranges::count(chosen(34), '/'), 1 + 3 * 2 + 30 * 3);
  EXPECT_FALSE(tree_[0].is_chosen) << "it is none";
}

TEST_F(ChosenGroups, AreTheLargestWithThoseAboveThem) {
  use("/pods/p2/c7", 100 * kMiB);
  use("/pods/p1/c1", 10 * kMiB);
  EXPECT_EQ(chosen(3), "/pods /pods/p2 /pods/p2/c7");
  EXPECT_EQ(chosen(5), "/pods /pods/p1 /pods/p2 /pods/p1/c1 /pods/p2/c7");
  EXPECT_EQ(chosen(2), "/pods /pods/p2") << "never one without those above it";
}

TEST_F(ChosenGroups, AreThoseThatGrowOrAreNearTheirLimitBeforeLargerOnes) {
  use("/pods/p1/c1", 30 * kMiB);
  use("/pods/p2/c2", 20 * kMiB);
  use("/pods/p3/c3", 10 * kMiB);
  EXPECT_EQ(chosen(3), "/pods /pods/p1 /pods/p1/c1");
  tree_[at("/pods/p2/c2")].limit = 21 * kMiB;
  EXPECT_EQ(chosen(3), "/pods /pods/p2 /pods/p2/c2");
  tree_[at("/pods/p3/c3")].slow_usage = 2 * kMiB;
  EXPECT_EQ(chosen(3), "/pods /pods/p3 /pods/p3/c3");
}

TEST_F(ChosenGroups, StayWhileOthersAreHardlyLarger) {
  use("/pods/p1/c1", 10 * kMiB);
  EXPECT_EQ(chosen(3), "/pods /pods/p1 /pods/p1/c1");
  use("/pods/p2/c2", 12 * kMiB);
  EXPECT_EQ(chosen(3), "/pods /pods/p1 /pods/p1/c1");
  use("/pods/p2/c2", 1 * kMiB);
  EXPECT_EQ(chosen(3), "/pods /pods/p2 /pods/p2/c2");
}

TEST_F(ChosenGroups, AreThoseThatLostAProcessForAnHour) {
  use("/pods/p1/c1", 1000 * kMiB);
  KnownGroup& killed = tree_[at("/pods/p3/c9")];
  killed.note_kills(4, 990);
  EXPECT_EQ(chosen(3), "/pods /pods/p1 /pods/p1/c1") << "what happened before the first look is old";
  killed.is_looked_at = true;
  killed.note_kills(5, 1000);
  EXPECT_EQ(chosen(4), "/pods /pods/p1 /pods/p3 /pods/p3/c9");
  EXPECT_EQ(chosen(3, 1361), "/pods /pods/p1 /pods/p1/c1");
}

TEST_F(ChosenGroups, AreNewestKillsForAtMostHalfOfThem) {
  use("/pods/p1/c1", 1000 * kMiB);
  for (int i = 0; i < 10; ++i) {
    KnownGroup& killed = tree_[at("/pods/p3/c" + std::to_string(i))];
    killed.last_kill = 900 + static_cast<std::uint32_t>(i);
  }
  EXPECT_EQ(chosen(7), "/pods /pods/p1 /pods/p3 /pods/p1/c1 /pods/p3/c7 /pods/p3/c8 /pods/p3/c9");
}

}  // namespace
}  // namespace memstat
