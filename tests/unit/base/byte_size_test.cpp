// SPDX-License-Identifier: BSD-2-Clause
#include "core/base/byte_size.h"

#include "tests/support/test.h"

namespace memstat {
namespace {

std::string exact(std::uint64_t bytes) {
  const auto [number, unit] = exact_size(bytes);
  return std::to_string(number).append(unit);
}

TEST(ByteSize, AnExactSizeHasNoFraction) {
  EXPECT_EQ(exact(0), "0B");
  EXPECT_EQ(exact(1023), "1023B");
  EXPECT_EQ(exact(1024), "1KiB");
  EXPECT_EQ(exact(1536), "1536B");
  EXPECT_EQ(exact(std::uint64_t{16} << 30), "16GiB");
  EXPECT_EQ(exact(std::uint64_t{1} << 63), "8EiB");
}

TEST(ByteSize, ARoundedSizeIsBelow1024) {
  EXPECT_EQ(rounded_size(0).unit, "B");
  EXPECT_EQ(rounded_size(1023).unit, "B");
  EXPECT_EQ(rounded_size(1024).unit, "KiB");
  EXPECT_EQ(rounded_size(1023.4 * 1024).unit, "KiB");
  EXPECT_EQ(rounded_size(1023.6 * 1024).unit, "MiB") << "1024 KiB, rounded";
  EXPECT_DOUBLE_EQ(rounded_size(1.5 * (1 << 30)).number, 1.5);
  EXPECT_EQ(rounded_size(1e30).unit, "EiB");
}

TEST(ByteSize, SizesAreParsedUpToSixtyThreeBits) {
  EXPECT_EQ(parse_byte_size("512"), 512U);
  EXPECT_EQ(parse_byte_size("64KiB"), 65536U);
  EXPECT_EQ(parse_byte_size("8589934591GiB"), std::uint64_t{8589934591} << 30U);
  for (const char* wrong :
       {"", "KiB", "1TiB", "1kB", "1 KiB", "-1", "1.5GiB", "8589934592GiB", "9223372036854775808", "18446744073709551616"}) {
    EXPECT_FALSE(parse_byte_size(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace memstat
