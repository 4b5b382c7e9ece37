// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/output/cells.h"

#include "tests/support/test.h"

namespace memstat::ctl {
namespace {

struct Case {
  std::uint64_t value;
  const char* decimal_1000;
  const char* decimal_1024;
  const char* whole_1024;
};

TEST(Humanize, TakesTheLargestUnitAndADecimalBelowTen) {
  const Case cases[] = {
      {999, "999", "999", "999"},        {1000, "1.0k", "1000", "1000"},
      {1024, "1.0k", "1.0K", "1K"},      {1535, "1.5k", "1.5K", "1K"},
      {1536, "1.5k", "1.5K", "2K"},      {9950, "10k", "9.7K", "10K"},
      {10180, "10k", "9.9K", "10K"},     {10189, "10k", "10K", "10K"},  // 9.95 to two digits
      {999999, "1000k", "977K", "977K"}, {1048575, "1.0M", "1024K", "1024K"},
      {1048576, "1.0M", "1.0M", "1M"},   {(std::uint64_t{1} << 63U) - 1, "9.2E", "8.0E", "8E"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(humanize(c.value, Base::k1000, true), c.decimal_1000) << c.value;
    EXPECT_EQ(humanize(c.value, Base::k1024, true), c.decimal_1024) << c.value;
    EXPECT_EQ(humanize(c.value, Base::k1024, false), c.whole_1024) << c.value;
  }
}

TEST(Humanize, ValuesJustBelowTheTopAreNegative) {
  EXPECT_EQ(humanize(~std::uint64_t{0}, Base::k1000, true), "-1");
  EXPECT_EQ(humanize(0 - std::uint64_t{2048}, Base::k1024, true), "-2.0K");
  EXPECT_EQ(humanize(std::uint64_t{1} << 63U, Base::k1024, true), "-8.0E");
}

}  // namespace
}  // namespace memstat::ctl
