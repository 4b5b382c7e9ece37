// SPDX-License-Identifier: BSD-2-Clause
#include "core/base/buffer.h"

#include "tests/support/test.h"

namespace memstat {
namespace {

TEST(Buffer, ShrinkingKeepsTheRoomAndTheAddress) {
  Buffer buffer(std::string(5000, 'x'));
  const char* address = buffer.data();
  buffer.clear();
  buffer.assign(std::string(5000, 'y'));
  EXPECT_EQ(buffer.data(), address);
  EXPECT_EQ(buffer.view(), std::string(5000, 'y'));
}

TEST(Buffer, GivesLargeMemoryBackAndKeepsSmall) {
  Buffer small(std::string(5000, 'x'));
  const char* const address = small.data();
  small.give_back_if_large();
  EXPECT_TRUE(small.empty());
  EXPECT_GE(small.capacity(), 5000U);
  small.assign("y");
  EXPECT_EQ(small.data(), address);

  if (kMappedFrom == SIZE_MAX) GTEST_SKIP() << "a sanitizer's build has all buffers on the heap";
  Buffer large(std::string(kMappedFrom - 1, 'x'));
  EXPECT_GT(large.capacity(), 0U);
  large.append("yz");  // from the heap to memory of its own
  EXPECT_EQ(large.view(), std::string(kMappedFrom - 1, 'x') + "yz");
  Buffer moved = std::move(large);
  EXPECT_EQ(moved.size(), kMappedFrom + 1);
  moved.reserve(5 * kMappedFrom);
  EXPECT_EQ(moved.view(), std::string(kMappedFrom - 1, 'x') + "yz");
  moved.give_back_if_large();
  EXPECT_TRUE(moved.empty());
  EXPECT_EQ(moved.capacity(), 0U);
  moved.assign("again");
  EXPECT_EQ(moved.view(), "again");
}

TEST(Buffer, AppendsAPartOfItselfWhileItGrows) {
  for (const std::size_t size :
       {std::size_t{6}, std::min(kMappedFrom, std::size_t{1} << 20U)}) {  // sanitized, none is mapped
    const std::string content = "abcdef" + std::string(size - 6, 'x');
    Buffer buffer(content);
    ASSERT_EQ(buffer.capacity(), content.size()) << "so that it has to grow";
    buffer.append(buffer.view());
    EXPECT_EQ(buffer.view(), content + content);
    buffer.append(buffer.view().substr(1, 3));
    EXPECT_EQ(buffer.view(), content + content + "bcd");
  }
}

}  // namespace
}  // namespace memstat
