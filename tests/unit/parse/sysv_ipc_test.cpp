// SPDX-License-Identifier: BSD-2-Clause
#include "core/parse/sysv_ipc.h"

#include "tests/support/test.h"

namespace memstat {
namespace {

template <typename T>
void put(std::string& bytes, std::size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

TEST(SysvArrays, CountAllocatedObjects) {
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

const std::string kSegmentColumns = "key shmid perms size nattch rss swap\n";

TEST(HeldSegments, AreThoseOfAllAndOfUnattachedOnes) {
  HeldSegments held;
  EXPECT_FALSE(
      read_held_segments(kSegmentColumns + "0 0 600 8192 2 4096 0\n0 1 600 99999 0 4096 8192\n0 2 600 5 0 0 4096\n", held));
  EXPECT_TRUE(held.is_known);
  EXPECT_EQ(held.resident, 8192U);
  EXPECT_EQ(held.swapped, 12288U);
  EXPECT_EQ(held.unattached, 2U);
  EXPECT_EQ(held.unattached_bytes, 16384U);
}

TEST(HeldSegments, AreUnknownWithoutTheColumns) {
  for (const char* text : {"", "key shmid\n0 0\n", "nattch rss\n1 2\n"}) {
    HeldSegments held;
    EXPECT_FALSE(read_held_segments(text, held)) << text;
    EXPECT_FALSE(held.is_known) << text;
  }
}

TEST(HeldSegments, SayWhichLineLacksANumber) {
  const std::string good = "0 0 600 8192 2 4096 0\n";
  for (const char* bad : {"0 0 600 8192 2 4096\n", "0 0 600 8192 x 4096 0\n", "0 0 600 8192 2 4096 -1\n", "\n"}) {
    HeldSegments held;
    EXPECT_EQ(read_held_segments(kSegmentColumns + good + bad, held), kSegmentColumns.size() + good.size()) << bad;
  }
  HeldSegments most;
  const std::string largest = "0 0 600 0 0 18446744073709551615 18446744073709551615\n";
  EXPECT_FALSE(read_held_segments(kSegmentColumns + largest + largest, most));
  EXPECT_EQ(most.unattached_bytes, ~std::uint64_t{0}) << "does not wrap";
}

}  // namespace
}  // namespace memstat
