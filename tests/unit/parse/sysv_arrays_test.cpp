// SPDX-License-Identifier: BSD-2-Clause
#include "core/parse/sysv_arrays.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace memstat {
namespace {

template <typename T>
void put(std::string& bytes, std::size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

TEST(SysvArrays, CountWhatIsAllocated) {
  std::string segments(3 * 104, '\0');
  put<std::uint16_t>(segments, 16, 0x200);  // SHMSEG_FREE
  put<std::uint64_t>(segments, 32, 512);
  put<std::uint16_t>(segments, 104 + 16, 0x800 | 0600);
  put<std::uint64_t>(segments, 104 + 32, 4096);
  put<std::uint32_t>(segments, 104 + 48, 2);
  put<std::uint16_t>(segments, 208 + 16, 0x800 | 0600);
  put<std::uint64_t>(segments, 208 + 32, 8192);
  const auto shm = read_shared_segments(segments);
  ASSERT_TRUE(shm);
  EXPECT_EQ(shm->objects, 2U);
  EXPECT_EQ(shm->bytes, 12288U);
  EXPECT_EQ(shm->parts, 1U) << "nobody has attached the last one";

  std::string sets(2 * 80, '\0');
  put<std::uint16_t>(sets, 80 + 16, 0x200 | 0600);
  put<std::uint16_t>(sets, 80 + 40, 7);
  const auto sem = read_semaphore_sets(sets);
  ASSERT_TRUE(sem);
  EXPECT_EQ(sem->objects, 1U);
  EXPECT_EQ(sem->parts, 7U);

  std::string queues(2 * 120, '\0');
  put<std::uint64_t>(queues, 48, 11);
  put<std::uint64_t>(queues, 56, 3);
  put<std::uint64_t>(queues, 64, 2048);
  const auto msg = read_message_queues(queues);
  ASSERT_TRUE(msg);
  EXPECT_EQ(msg->objects, 1U);
  EXPECT_EQ(msg->parts, 3U);
  EXPECT_EQ(msg->bytes, 11U);
}

TEST(SysvArrays, OfOtherStructuresAreUnknown) {
  for (const std::size_t size : {1U, 79U, 103U, 119U, 121U}) {
    const std::string bytes(size, '\xFF');
    EXPECT_FALSE(read_shared_segments(bytes)) << size;
    EXPECT_FALSE(read_semaphore_sets(bytes)) << size;
    EXPECT_FALSE(read_message_queues(bytes)) << size;
  }
  EXPECT_EQ(read_shared_segments("")->objects, 0U);
  const auto most = read_shared_segments(std::string(2 * 104, '\xFF'));
  EXPECT_EQ(most->bytes, ~std::uint64_t{0}) << "does not wrap";
}

}  // namespace
}  // namespace memstat
