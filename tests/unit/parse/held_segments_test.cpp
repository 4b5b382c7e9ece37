// SPDX-License-Identifier: BSD-2-Clause
#include "core/parse/held_segments.h"

#include <gtest/gtest.h>

#include <string>

namespace memstat {
namespace {

const std::string kHeader = "key shmid perms size nattch rss swap\n";

TEST(HeldSegments, AreThoseOfAllAndOfThoseNobodyHasAttached) {
  HeldSegments held;
  EXPECT_FALSE(read_held_segments(kHeader + "0 0 600 8192 2 4096 0\n0 1 600 99999 0 4096 8192\n0 2 600 5 0 0 4096\n", held));
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
    EXPECT_EQ(read_held_segments(kHeader + good + bad, held), kHeader.size() + good.size()) << bad;
  }
  HeldSegments most;
  const std::string largest = "0 0 600 0 0 18446744073709551615 18446744073709551615\n";
  EXPECT_FALSE(read_held_segments(kHeader + largest + largest, most));
  EXPECT_EQ(most.unattached_bytes, ~std::uint64_t{0}) << "does not wrap";
}

}  // namespace
}  // namespace memstat
