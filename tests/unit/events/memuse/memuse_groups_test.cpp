// SPDX-License-Identifier: BSD-2-Clause
// Blocks in use, grouped and judged, from tables like those of a watch, so that no privilege is needed.
#include "core/events/memuse/memuse_groups.h"

#include "tests/support/test.h"

namespace memstat::events {
namespace {

constexpr std::int64_t kNsOfASecond = 1'000'000'000;
constexpr std::uint64_t kCache = 0xffff888100000100;

/// A minute of watching, in which blocks of ten seconds are old, with one cache "kmalloc-64".
MemuseTable minute() {
  return {.watched_ns = 60 * kNsOfASecond, .older_ns = 10 * kNsOfASecond, .caches = {{.key = kCache, .name = "kmalloc-64"}}};
}

void add_stack(MemuseTable& table, std::uint64_t key, std::vector<std::uint64_t> frames) {
  table.stacks.push_back({.key = key, .frames = std::move(frames)});
}

/// A block of the stack every second between two ages.
void add_blocks(MemuseTable& table, std::uint64_t stack, int youngest, int oldest, const char* command = "leaker") {
  for (int age = youngest; age <= oldest; ++age) {
    table.blocks.push_back(
        {.stack = stack, .cache = kCache, .age_ns = age * kNsOfASecond, .bytes = 64, .process = 7, .command = command});
    ++table.stacks.back().allocations;
  }
}

std::vector<MemuseGroup> groups_of(const MemuseTable& table, std::size_t match = 2, std::string_view type = {}) {
  return group_blocks(table, match, type,
                      [](std::uint64_t frame) { return std::string(frame == 0xa110c ? "alloc_inode" : "some_function"); });
}

MemuseVerdict verdict_of(const MemuseTable& table) {
  const auto groups = groups_of(table);
  EXPECT_THAT(groups, SizeIs(1));
  return groups.front().verdict;
}

TEST(MemuseGroups, HaveTheirFirstFramesInCommon) {
  MemuseTable table = minute();
  add_stack(table, 1, {10, 20, 30});
  add_blocks(table, 1, 1, 3);
  add_stack(table, 2, {10, 20, 31});
  add_blocks(table, 2, 1, 5);
  add_stack(table, 3, {10, 21, 30});
  add_blocks(table, 3, 1, 1);
  const auto pairs = groups_of(table);
  ASSERT_THAT(pairs, SizeIs(2));
  EXPECT_EQ(pairs[0].blocks, 8U);
  EXPECT_EQ(pairs[0].bytes, 512U);
  EXPECT_EQ(pairs[0].allocations, 8U);
  EXPECT_EQ(pairs[0].stacks, 2U);
  EXPECT_EQ(pairs[0].oldest_ns, 5 * kNsOfASecond);
  EXPECT_THAT(pairs[0].frames, ElementsAre(10, 20, 31)) << "of the stack with most blocks";
  EXPECT_EQ(pairs[1].blocks, 1U);
  EXPECT_THAT(groups_of(table, 1), SizeIs(1));
  EXPECT_THAT(groups_of(table, 3), SizeIs(3));
  EXPECT_THAT(groups_of(table, 32), SizeIs(3)) << "more than any stack has";
}

TEST(MemuseGroups, NameTheControlGroupOfMostOfTheirBlocks) {
  MemuseTable table = minute();
  table.control_groups = {{.key = 11, .path = "/docker/4f9a"}, {.key = 12, .path = "/"}};
  add_stack(table, 1, {10, 20});
  add_blocks(table, 1, 1, 5);
  for (std::size_t i = 0; i < table.blocks.size(); ++i) table.blocks[i].control_group = i < 2 ? 12 : 11;
  EXPECT_EQ(groups_of(table).front().control_group, "/docker/4f9a");
  for (MemuseBlock& block : table.blocks) block.control_group = 13;
  EXPECT_EQ(groups_of(table).front().control_group, "") << "a group that is gone";
}

TEST(MemuseGroups, OfALeakAreSuspectsAndComeFirst) {
  MemuseTable table = minute();
  add_stack(table, 1, {10, 20});
  add_blocks(table, 1, 0, 9);
  for (MemuseBlock& block : table.blocks) block.bytes = 1'000'000;
  add_stack(table, 2, {11, 21});
  add_blocks(table, 2, 0, 59);
  const auto groups = groups_of(table);
  ASSERT_THAT(groups, SizeIs(2));
  EXPECT_EQ(groups[0].verdict, MemuseVerdict::kSuspect);
  EXPECT_TRUE(groups[0].is_growing);
  EXPECT_EQ(groups[0].blocks, 60U);
  EXPECT_EQ(groups[0].old_blocks, 50U);
  EXPECT_EQ(groups[0].old_bytes, 3200U);
  EXPECT_EQ(groups[0].type, "kmalloc-64");
  EXPECT_EQ(groups[0].command, "leaker");
  EXPECT_EQ(groups[0].process, 7U);
  EXPECT_EQ(groups[1].verdict, MemuseVerdict::kInUse);
}

TEST(MemuseGroups, ThatStoppedGrowingAreNotSuspects) {
  MemuseTable at_start = minute();
  add_stack(at_start, 1, {10, 20});
  add_blocks(at_start, 1, 40, 59);
  EXPECT_EQ(verdict_of(at_start), MemuseVerdict::kInUse) << "allocated once, and kept";
  MemuseTable recent = minute();
  add_stack(recent, 1, {10, 20});
  add_blocks(recent, 1, 0, 30);
  EXPECT_EQ(verdict_of(recent), MemuseVerdict::kInUse) << "they live for half a minute";
}

TEST(MemuseGroups, OfManyBlocksThatCameAtOnceAndStayedAreSuspects) {
  MemuseTable table = minute();
  add_stack(table, 1, {10, 20});
  for (int i = 0; i < 99; ++i) add_blocks(table, 1, 50, 50);
  EXPECT_EQ(verdict_of(table), MemuseVerdict::kInUse) << "too few to distinguish them from a starting program";
  add_blocks(table, 1, 50, 50);
  EXPECT_EQ(verdict_of(table), MemuseVerdict::kSuspect);
  EXPECT_FALSE(groups_of(table)[0].is_growing);
  table.stacks[0].allocations = 110;
  EXPECT_EQ(verdict_of(table), MemuseVerdict::kInUse) << "others of it were freed";
}

TEST(MemuseGroups, ThatFreeOldBlocksAreNotSuspects) {
  MemuseTable table = minute();
  add_stack(table, 1, {10, 20});
  add_blocks(table, 1, 0, 59);
  table.stacks[0].old_frees = 4;
  EXPECT_EQ(verdict_of(table), MemuseVerdict::kSuspect) << "less than one in ten";
  table.stacks[0].old_frees = 5;
  EXPECT_EQ(verdict_of(table), MemuseVerdict::kInUse);
}

TEST(MemuseGroups, ThatAreFreedWithoutAnEventAreNotKnown) {
  MemuseTable table = minute();
  add_stack(table, 1, {10, 20});
  add_blocks(table, 1, 0, 59);
  table.stacks[0].silent_frees = 5;
  EXPECT_EQ(verdict_of(table), MemuseVerdict::kNotKnown);
}

TEST(MemuseGroups, OfWhatTheKernelGivesBackAreCached) {
  MemuseTable reclaimable = minute();
  reclaimable.caches[0].is_reclaimable = true;
  add_stack(reclaimable, 1, {10, 20});
  add_blocks(reclaimable, 1, 0, 59);
  EXPECT_EQ(verdict_of(reclaimable), MemuseVerdict::kCached);
  MemuseTable part_of_inode = minute();
  add_stack(part_of_inode, 1, {10, 20, 0xa110c});
  add_blocks(part_of_inode, 1, 0, 59);
  EXPECT_EQ(verdict_of(part_of_inode), MemuseVerdict::kCached);
}

TEST(MemuseGroups, OfOneTypeHaveNoOther) {
  MemuseTable table = minute();
  table.caches.push_back({.key = kCache + 1, .name = "filp"});
  add_stack(table, 1, {10, 20});
  add_blocks(table, 1, 0, 9);
  table.blocks[0].cache = kCache + 1;
  ASSERT_THAT(groups_of(table), SizeIs(1));
  EXPECT_EQ(groups_of(table)[0].types, 2U);
  ASSERT_THAT(groups_of(table, 2, "filp"), SizeIs(1));
  EXPECT_EQ(groups_of(table, 2, "filp")[0].blocks, 1U);
  EXPECT_THAT(groups_of(table, 2, "dentry"), SizeIs(0));
}

TEST(MemuseGroups, WithoutACacheHaveTheTypeOfTheirSize) {
  MemuseTable table = minute();
  for (const std::uint32_t bytes : {64U, 2048U, 16384U}) {
    add_stack(table, bytes, {bytes, 20});
    table.blocks.push_back({.stack = bytes, .bytes = bytes});
  }
  std::vector<std::string> types;
  for (const MemuseGroup& group : groups_of(table)) types.push_back(group.type);
  EXPECT_THAT(types, ElementsAre("kmalloc above 8k", "kmalloc-2k", "kmalloc-64"));
}

}  // namespace
}  // namespace memstat::events
