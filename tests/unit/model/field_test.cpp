// SPDX-License-Identifier: BSD-2-Clause
#include "core/model/field.h"

#include "tests/support/test.h"

namespace memstat {
namespace {

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
