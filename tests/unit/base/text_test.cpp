// SPDX-License-Identifier: BSD-2-Clause
#include "core/base/text.h"

#include "tests/support/test.h"

namespace memstat {
namespace {

TEST(ParseU64, TakesTheWholeRangeAndNothingElse) {
  EXPECT_EQ(parse_u64("0"), 0U);
  EXPECT_EQ(parse_u64("18446744073709551615"), 18446744073709551615U);
  EXPECT_FALSE(parse_u64("18446744073709551616"));
  EXPECT_FALSE(parse_u64("99999999999999999999"));
  for (const char* bad : {"", " 1", "1 ", "+1", "-1", "1x", "0x10", "1.0"}) EXPECT_FALSE(parse_u64(bad)) << bad;
  EXPECT_FALSE(parse_u64(std::string_view()));
}

TEST(Text, ParsesDecimalNumbers) {
  EXPECT_EQ(parse_decimal("10"), 10.0);
  EXPECT_EQ(parse_decimal("10.000000"), 10.0);
  EXPECT_EQ(parse_decimal("0.25"), 0.25);
  EXPECT_EQ(parse_decimal("00.0625"), 0.0625);
  for (const char* const wrong : {"", ".", "1.", ".5", "-1", "+1", "1e3", "inf", "nan", "0x10", "1.2.3", "1.-5", " 1", "1 ",
                                  "99999999999999999999", "0.99999999999999999999"}) {
    EXPECT_FALSE(parse_decimal(wrong)) << wrong;
  }
}

TEST(ParseI64, TakesAMinusAndStopsAtTheRange) {
  EXPECT_EQ(parse_i64("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(parse_i64("9223372036854775807"), INT64_MAX);
  EXPECT_FALSE(parse_i64("9223372036854775808"));
  for (const char* bad : {"", "-", "--1", "+1", "1-"}) EXPECT_FALSE(parse_i64(bad)) << bad;
}

TEST(NextLine, CountsALastLineWithoutNewlineAndKeepsEmptyOnes) {
  std::string_view rest = "a\n\nb";
  std::string_view line;
  std::vector<std::string> lines;
  while (next_line(rest, line)) lines.emplace_back(line);
  EXPECT_EQ(lines, (std::vector<std::string>{"a", "", "b"}));
  EXPECT_FALSE(next_line(rest, line));
}

TEST(NextWord, EndsAtTheFirstBlankOfAnyPlace) {
  for (std::size_t size = 1; size < 20; ++size) {
    for (const char blank : {' ', '\t'}) {
      // Bytes that differ from a blank in the lowest bit, before and after it.
      for (const char near : {'!', '\b', 'a', '\xa0'}) {
        const std::string text = std::string(size, near) + blank + near + " \tlast-word";
        std::string_view rest = text;
        std::string_view word;
        ASSERT_TRUE(next_word(rest, word));
        EXPECT_EQ(word, std::string(size, near));
        ASSERT_TRUE(next_word(rest, word));
        EXPECT_EQ(word, std::string(1, near));
        ASSERT_TRUE(next_word(rest, word));
        EXPECT_EQ(word, "last-word");
        EXPECT_FALSE(next_word(rest, word));
      }
    }
  }
}

TEST(Utf8, RefusesWhatRfc3629Refuses) {
  const std::vector<std::string> good = {"", "abc", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\xF4\x8F\xBF\xBF"};
  for (const std::string& text : good) EXPECT_TRUE(is_valid_label_text(text)) << text;
  const std::vector<std::string> bad = {"\x80",
                                        "\xC0\x80",
                                        "\xC1\xBF",
                                        "\xC3",
                                        "\xE0\x80\x80",
                                        "\xE0\x9F\xBF",
                                        "\xED\xA0\x80",
                                        "\xF0\x80\x80\x80",
                                        "\xF4\x90\x80\x80",
                                        "\xF5\x80\x80\x80",
                                        "\xFF",
                                        "a\xE2\x82",
                                        std::string("a\0b", 3)};
  for (const std::string& text : bad) EXPECT_FALSE(is_valid_label_text(text)) << testing::PrintToString(text);
}

TEST(LabelText, ControlCharactersBecomeVisible) {
  EXPECT_EQ(make_label_text(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(make_label_text("\x1b[31mred\n\t\x7f"), "\\x1b[31mred\\x0a\\x09\\x7f");
  EXPECT_EQ(make_label_text("a\xC2\x9B"
                            "31m"),
            "a\\u009b31m")
      << "CSI in one character";
  EXPECT_EQ(make_label_text("\xC2\xA0\\x1b"), "\xC2\xA0\\x1b") << "what looks like one stays";
}

TEST(LabelText, NoControlCharacterAnywhereIsValid) {
  for (int character = 0; character < 256; ++character) {
    const bool is_control = character < 0x20 || character == 0x7F;
    for (std::size_t size = 1; size < 20; ++size) {
      for (std::size_t at = 0; at < size; ++at) {
        std::string text(size, at % 2 == 0 ? '~' : ' ');
        text[at] = static_cast<char>(character);
        ASSERT_EQ(is_valid_label_text(text), character < 0x80 && !is_control) << character << " at " << at << " of " << size;
      }
    }
  }
  EXPECT_FALSE(is_valid_label_text("\xC2\x80"));
  EXPECT_FALSE(is_valid_label_text("\xC2\x9F"));
  EXPECT_TRUE(is_valid_label_text("\xC2\xA0"));
}

TEST(Utf8, RepairedTextIsAlwaysValid) {
  std::string all;
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; second += 5) {
      all = {static_cast<char>(first), static_cast<char>(second), static_cast<char>(first ^ second)};
      EXPECT_TRUE(is_valid_label_text(make_label_text(all))) << first << " " << second;
      EXPECT_LE(make_label_text(all).size(), kMaxLabelBytes * all.size()) << first << " " << second;
    }
  }
}

TEST(CpuList, FindsTheHighestAcrossHoles) {
  EXPECT_EQ(highest_of_list("0"), 0U);
  EXPECT_EQ(highest_of_list("0-3\n"), 3U);
  EXPECT_EQ(highest_of_list("0-3,6"), 6U);
  EXPECT_EQ(highest_of_list("6,0-3"), 6U);
  EXPECT_EQ(count_of_list("0-3,6"), 5U);
}

TEST(CpuList, RefusesMalformedLists) {
  for (const char* bad : {"", "\n", "-", "3-", "-3", "3-1", "0,", ",0", "0-3;5", "a", "0-4294967295", "0 - 3"}) {
    EXPECT_FALSE(highest_of_list(bad)) << bad;
    EXPECT_FALSE(count_of_list(bad)) << bad;
  }
}

TEST(CpuList, IsFormattedWithRanges) {
  EXPECT_EQ(format_list(std::vector<std::uint32_t>{}), "");
  EXPECT_EQ(format_list(std::vector<std::uint32_t>{7}), "7");
  EXPECT_EQ(format_list(std::vector<std::uint32_t>{0, 1, 2, 4, 6, 7}), "0-2,4,6-7");
}

TEST(ParseNumber, TakesDecimalAndHexadecimalNumbers) {
  EXPECT_EQ(parse_number("6699"), 6699U);
  EXPECT_EQ(parse_number("0x1a2b"), 0x1A2BU);
  EXPECT_EQ(parse_number("0XF"), 15U);
  for (const char* const text : {"", "0x", "1a2b", "-1", "0x-1", "1 "}) EXPECT_EQ(parse_number(text), std::nullopt) << text;
}

TEST(ParseHexU64, TakesHexadecimalDigitsOnly) {
  EXPECT_EQ(parse_hex_u64("0000093d"), 0x93dU);
  EXPECT_EQ(parse_hex_u64("FFFFFFFFFFFFFFFF"), ~std::uint64_t{0});
  for (const char* text : {"", "-1", "0x1", "1 ", " 1", "g", "10000000000000000"}) {
    EXPECT_EQ(parse_hex_u64(text), std::nullopt) << text;
  }
}

TEST(JoinWords, PutsTheLastWordBeforeTheLastOne) {
  const std::vector<std::string_view> words = {"a", "b", "c"};
  EXPECT_EQ(join_words({}, " or "), "");
  EXPECT_EQ(join_words(std::span(words).first(1), " or "), "a");
  EXPECT_EQ(join_words(std::span(words).first(2), " or "), "a or b");
  EXPECT_EQ(join_words(words, " and "), "a, b and c");
}

TEST(InQuotes, MakesOneWordOfAShell) {
  EXPECT_EQ(in_quotes(""), "''");
  EXPECT_EQ(in_quotes("$(a) 'b'"), R"('$(a) '\''b'\''')");
  EXPECT_EQ(in_quotes("a:b", ":"), R"('a\:b')");
}

TEST(EditDistance, CountsEditsAndIsBlindToCasesAndDashes) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("page_faults", "Page-Faults"), 0U);
}

}  // namespace
}  // namespace memstat
