// SPDX-License-Identifier: BSD-2-Clause
#include "core/base/ipv4.h"

#include <gtest/gtest.h>

namespace memstat {
namespace {

TEST(Ipv4, IsFourNumbersUpTo255WithoutLeadingZeros) {
  EXPECT_EQ(parse_ipv4("192.0.2.1"), 0xC0000201U);
  EXPECT_EQ(parse_ipv4("0.0.0.0"), 0U);
  EXPECT_EQ(parse_ipv4("255.255.255.255"), 0xFFFFFFFFU);
  for (const char* wrong : {"", "1", "1.2.3", "1.2.3.", "1.2.3.4.", ".1.2.3", "1..2.3", "1.2.3.4.5", "1.2.3.256", "01.2.3.4",
                            "1.2.3.04", "1.2.3.-4", "1.2.3.4 ", " 1.2.3.4", "a.b.c.d", "1.2.3.0004", "::1"}) {
    EXPECT_EQ(parse_ipv4(wrong), std::nullopt) << wrong;
  }
}

TEST(Ipv4, IsWrittenAsItIsRead) {
  for (const char* text : {"0.0.0.0", "10.20.30.40", "255.0.255.1"}) EXPECT_EQ(format_ipv4(*parse_ipv4(text)), text);
}

TEST(Ipv4, MasksHaveAsManyBitsAsThePrefix) {
  EXPECT_EQ(ipv4_mask(0), 0U);
  EXPECT_EQ(ipv4_mask(8), 0xFF000000U);
  EXPECT_EQ(ipv4_mask(31), 0xFFFFFFFEU);
  EXPECT_EQ(ipv4_mask(32), 0xFFFFFFFFU);
}

}  // namespace
}  // namespace memstat
