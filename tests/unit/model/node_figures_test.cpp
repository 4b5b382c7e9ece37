// SPDX-License-Identifier: BSD-2-Clause
// Figures by NUMA node, and details, from a Staging to the memory types.
#include "core/model/node_figures.h"

#include "tests/support/staging_builder.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

constexpr std::uint64_t kNone = kNoFigure;
constexpr NodeFieldMask kHeldAndFree(NodeField::kHeldBytes, NodeField::kFree);

class NodeFiguresTest : public testing::Test {
 protected:
  void commit(const StagingBuilder& staging, const CommitScope& scope = roster_of(Allocator::kSlab)) {
    ASSERT_TRUE(list_.commit(scope, staging.staging(), ++generation_));
  }
  /// On nodes 0 to 4.
  [[nodiscard]] std::vector<std::uint64_t> of(std::string_view name, NodeField field, std::uint32_t ordinal = 0) const {
    std::vector<std::uint64_t> values;
    for (std::uint32_t node = 0; node < 5; ++node) {
      values.push_back(find_ordinal(list_, name, ordinal)->node_figure(field, node));
    }
    return values;
  }
  using Values = std::vector<std::uint64_t>;

  MemoryTypeList list_;
  std::uint64_t generation_ = 0;
};

TEST_F(NodeFiguresTest, ATypeHasThoseThatItsSourceGave) {
  StagingBuilder staging;
  staging.nodes(kHeldAndFree, 2);
  staging.type("a").node(NodeField::kHeldBytes, {10, 20}).node(NodeField::kFree, {1, 2}).type("b");
  commit(staging);
  EXPECT_EQ(of("a", NodeField::kHeldBytes), Values({10, 20, kNone, kNone, kNone}));
  EXPECT_EQ(of("a", NodeField::kFree), Values({1, 2, kNone, kNone, kNone}));
  EXPECT_EQ(of("a", NodeField::kCount), Values(5, kNone));
  EXPECT_EQ(of("b", NodeField::kFree), Values({0, 0, kNone, kNone, kNone}));
  EXPECT_EQ(find_ordinal(list_, "b", 0)->node_fields(), kHeldAndFree) << "which are 0 there";
  EXPECT_EQ(find_ordinal(list_, "a", 0)->node_count(), 2U);
  EXPECT_EQ(find_ordinal(list_, "a", 0)->node_figure(NodeField::kFree, ~0U), kNone);
}

TEST_F(NodeFiguresTest, NodesThatComeFindRoomAndThoseThatGoHaveNone) {
  for (const std::initializer_list<std::uint64_t> values :
       {std::initializer_list<std::uint64_t>{1}, {2, 3, 4}, {5, 6}, {7, 8, 9, 10}}) {
    commit(StagingBuilder()
               .nodes(kHeldAndFree, static_cast<std::uint32_t>(values.size()))
               .type("a")
               .node(NodeField::kFree, values));
    Values expected(values);
    expected.resize(5, kNone);
    EXPECT_EQ(of("a", NodeField::kFree), expected);
    for (std::uint64_t& value : expected) value = value == kNone ? kNone : 0;
    EXPECT_EQ(of("a", NodeField::kHeldBytes), expected);
  }
  EXPECT_EQ(find_ordinal(list_, "a", 0)->node_count(), 4U);
}

TEST_F(NodeFiguresTest, AFigureThatASourceNoLongerHasDisappears) {
  StagingBuilder with;
  with.nodes(kHeldAndFree, 2).type("a").node(NodeField::kFree, {1, 2});
  StagingBuilder without;
  without.type("a");
  commit(with);
  commit(without);
  EXPECT_TRUE(find_ordinal(list_, "a", 0)->node_fields().empty());
  EXPECT_EQ(of("a", NodeField::kFree), Values(5, kNone));
  commit(with);
  EXPECT_EQ(of("a", NodeField::kFree), Values({1, 2, kNone, kNone, kNone}));
}

TEST_F(NodeFiguresTest, ANodeWithoutAFigureOfAnyTypeDoesNotExist) {
  StagingBuilder staging;
  staging.nodes(NodeFieldMask(NodeField::kFree), 4).type("a").type("b");
  commit(staging);
  EXPECT_EQ(of("a", NodeField::kFree), Values(5, kNone));
  Staging sparse;
  sparse.reset({}, 0);
  sparse.set_nodes(NodeFieldMask(NodeField::kFree), 4);
  sparse.add("a");
  sparse.add("b");
  sparse.node_figure(sparse.types()[1], NodeField::kFree, 3) = 7;
  ASSERT_TRUE(list_.commit(roster_of(Allocator::kSlab), sparse, ++generation_));
  EXPECT_EQ(of("a", NodeField::kFree), Values({kNone, kNone, kNone, 0, kNone}));
  EXPECT_EQ(of("b", NodeField::kFree), Values({kNone, kNone, kNone, 7, kNone}));
}

TEST_F(NodeFiguresTest, EachSourceChangesItsOwnOnly) {
  CommitScope roster = roster_of(Allocator::kSlab);
  roster.node_fields = NodeFieldMask(NodeField::kFree);
  const CommitScope other{.source = "other", .allocator = Allocator::kSlab, .node_fields = NodeFieldMask(NodeField::kCount)};
  StagingBuilder of_roster;
  of_roster.nodes(kHeldAndFree, 1).type("a").node(NodeField::kFree, {1}).node(NodeField::kHeldBytes, {9});
  StagingBuilder of_other;
  of_other.nodes(NodeFieldMask(NodeField::kCount), 3).type("new").type("a").node(NodeField::kCount, {3, 4, 5});
  for (int i = 0; i < 2; ++i) {
    commit(of_roster, roster);
    commit(of_other, other);
    EXPECT_EQ(of("a", NodeField::kFree), Values({1, kNone, kNone, kNone, kNone}));
    EXPECT_EQ(of("a", NodeField::kCount), Values({3, 4, 5, kNone, kNone}));
    EXPECT_EQ(of("a", NodeField::kHeldBytes), Values(5, kNone)) << "of no node";
    EXPECT_EQ(find_ordinal(list_, "new", 0), nullptr);
  }
}

TEST_F(NodeFiguresTest, DetailsAreTheRostersAndFollowIt) {
  const auto detail = [&](const char* name) { return find_ordinal(list_, name, 0)->detail(); };
  commit(StagingBuilder().type("a").detail("mm/slub.c:1").type("b"));
  EXPECT_EQ(detail("a"), "mm/slub.c:1");
  EXPECT_EQ(detail("b"), "");
  commit(StagingBuilder().type("a").detail("not its business").type("b"),
         {.source = "other", .allocator = Allocator::kSlab, .fields = FieldMask(Field::kBytes)});
  EXPECT_EQ(detail("a"), "mm/slub.c:1");
  StagingBuilder second;
  second.type("a").type("b").detail("mm/vmalloc.c:2, which is longer than a short string is");
  const std::string* const same = &find_ordinal(list_, "b", 0)->detail();
  commit(second);
  EXPECT_EQ(detail("a"), "");
  EXPECT_EQ(detail("b"), "mm/vmalloc.c:2, which is longer than a short string is");
  const char* const text = same->data();
  commit(second);
  EXPECT_EQ(find_ordinal(list_, "b", 0)->detail().data(), text) << "the same is not assigned again";
  StagingBuilder none;
  commit(none);
  EXPECT_EQ(detail("b"), "mm/vmalloc.c:2, which is longer than a short string is") << "a vanished type keeps its last";
}

}  // namespace
}  // namespace memstat
