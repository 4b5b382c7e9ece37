// SPDX-License-Identifier: BSD-2-Clause
#include "core/base/ascii.h"

#include "tests/support/test.h"

namespace memstat {
namespace {

TEST(Ascii, LettersAreFoldedAndNothingElse) {
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    EXPECT_EQ(ascii_lower(c), byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte + 32) : c) << byte;
  }
  EXPECT_TRUE(equals_ignoring_case("Content-Length", "cONTENT-lENGTH"));
  EXPECT_FALSE(equals_ignoring_case("a", "ab"));
  EXPECT_FALSE(equals_ignoring_case("[", "{")) << "32 apart, but no letters";
}

TEST(Ascii, HexadecimalDigitsHaveValues) {
  int digits = 0;
  for (int byte = 0; byte < 256; ++byte) digits += hex_digit(static_cast<char>(byte)) >= 0 ? 1 : 0;
  EXPECT_EQ(digits, 22);
  EXPECT_EQ(hex_digit('0'), 0);
  EXPECT_EQ(hex_digit('9'), 9);
  EXPECT_EQ(hex_digit('a'), 10);
  EXPECT_EQ(hex_digit('F'), 15);
}

}  // namespace
}  // namespace memstat
