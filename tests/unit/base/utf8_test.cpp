// SPDX-License-Identifier: BSD-2-Clause
#include "core/base/utf8.h"

#include "tests/support/test.h"

namespace memstat {
namespace {

TEST(Utf8, CharactersHaveTheSizeOfTheirFirstByte) {
  EXPECT_EQ(character_size("az"), 1U);
  EXPECT_EQ(character_size("\xC3\xA4z"), 2U);
  EXPECT_EQ(character_size("\xE2\x82\xACz"), 3U);
  EXPECT_EQ(character_size("\xF0\x9F\x98\x80z"), 4U);
}

TEST(Utf8, HiddenCharactersAreDistinguishedFromVisibleOnes) {
  EXPECT_EQ(hidden_character("\x1B["), 0x1BU);
  EXPECT_EQ(hidden_character("\xC2\x9B"), 0x9BU);
  EXPECT_EQ(hidden_character("\xE2\x80\xAE"), 0x202EU);
  EXPECT_EQ(hidden_character("\xF3\xA0\x81\x81"), 0xE0041U);
  EXPECT_FALSE(hidden_character("a"));
  EXPECT_FALSE(hidden_character("\xE2\x82\xAC"));
}

TEST(Utf8, APrefixHasNoPartOfACharacter) {
  EXPECT_EQ(utf8_prefix("abc", 3), "abc");
  EXPECT_EQ(utf8_prefix("abc", 2), "ab");
  EXPECT_EQ(utf8_prefix("a\xE2\x82\xAC!", 4), "a\xE2\x82\xAC");
  EXPECT_EQ(utf8_prefix("a\xE2\x82\xAC!", 3), "a");
  EXPECT_EQ(utf8_prefix("\xE2\x82\xAC", 2), "");
  EXPECT_EQ(utf8_prefix("a\x80\x80\x80\x80\x80\x80", 5), "a\x80") << "invalid: three bytes are removed at most";
}

TEST(Utf8, HexadecimalDigitsAreTheLowestOnes) {
  std::string text = "0x";
  append_hex(text, 0xABCDE, 4);
  append_hex(text, 7, 2);
  append_hex(text, 0xFFFFFFFFU, 8);
  append_hex(text, 1, 0);
  EXPECT_EQ(text, "0xbcde07ffffffff");
}

}  // namespace
}  // namespace memstat
