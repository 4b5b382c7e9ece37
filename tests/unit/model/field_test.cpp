// SPDX-License-Identifier: BSD-2-Clause
#include "core/model/field.h"

#include "tests/support/test.h"

namespace memstat {
namespace {

TEST(FieldSet, HoldsWhatWasPutIn) {
  FieldMask mask(Field::kBytes, Field::kSizeMask);
  EXPECT_TRUE(mask.has(Field::kBytes));
  EXPECT_TRUE(mask.has(Field::kSizeMask));
  EXPECT_FALSE(mask.has(Field::kCount));
  EXPECT_EQ(mask.size(), 2U);
  mask.add(Field::kCount);
  mask.remove(Field::kBytes);
  EXPECT_TRUE(mask == FieldMask(Field::kCount, Field::kSizeMask));
  EXPECT_TRUE(FieldMask().empty());
}

TEST(FieldSet, UnionIntersectionAndDifference) {
  const FieldMask a(Field::kBytes, Field::kCount);
  const FieldMask b(Field::kCount, Field::kFree);
  EXPECT_TRUE((a | b) == FieldMask(Field::kBytes, Field::kCount, Field::kFree));
  EXPECT_TRUE((a & b) == FieldMask(Field::kCount));
  EXPECT_TRUE((a - b) == FieldMask(Field::kBytes));
}

TEST(FieldSet, RankIsTheRowInColumnsOfMembersOnly) {
  const CpuFieldMask mask(CpuField::kNumFrees, CpuField::kFree);
  EXPECT_EQ(mask.rank(CpuField::kNumFrees), 0U);
  EXPECT_EQ(mask.rank(CpuField::kFree), 1U);
}

TEST(Field, WordsAreUniqueAndKnown) {
  std::set<std::string> words;
  for (std::size_t i = 0; i < kFieldCount; ++i) words.emplace(to_string(static_cast<Field>(i)));
  EXPECT_EQ(words.size(), kFieldCount);
  EXPECT_FALSE(words.contains("unknown"));
  words.clear();
  for (std::size_t i = 0; i < kCpuFieldCount; ++i) words.emplace(to_string(static_cast<CpuField>(i)));
  EXPECT_EQ(words.size(), kCpuFieldCount);
  EXPECT_FALSE(words.contains("unknown"));
  words.clear();
  for (std::size_t i = 0; i < kAllocatorCount; ++i) words.emplace(to_string(static_cast<Allocator>(i)));
  EXPECT_EQ(words.size(), kAllocatorCount);
}

TEST(Field, AllocatorNumbersAreLibmemstats) {
  EXPECT_EQ(static_cast<int>(Allocator::kUnknown), 0);
  EXPECT_EQ(static_cast<int>(Allocator::kMalloc), 1);
  EXPECT_EQ(static_cast<int>(Allocator::kUma), 2);
}

}  // namespace
}  // namespace memstat
