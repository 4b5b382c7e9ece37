// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/output/cells.h"

#include "tests/support/test.h"

namespace memstat::ctl {
namespace {

TEST(Cells, ArePaddedToTheirWidthAndNeverCut) {
  EXPECT_EQ(to_right("ab", 4), "  ab");
  EXPECT_EQ(to_left("ab", 4), "ab  ");
  EXPECT_EQ(to_right("abcde", 4), "abcde");
  EXPECT_EQ(to_left("abcde", 4), "abcde");
  EXPECT_EQ(to_right(std::uint64_t{7}, 3), "  7");
  EXPECT_EQ(to_right(~std::uint64_t{0}, 3), "18446744073709551615");
}

TEST(Cells, WideAndCombiningCharactersHaveTheirColumns) {
  EXPECT_EQ(width_of("\xE6\xB1\x89"
                     "a"),
            3U);
  EXPECT_EQ(width_of("e\xCC\x81"), 1U);
  EXPECT_EQ(cut("\xE6\xB1\x89\xE6\xB1\x89", 3), "\xE6\xB1\x89");
}

TEST(Cells, LongNamesLoseTheirMiddle) {
  EXPECT_EQ(shortened("abcdefghij", 10), "abcdefghij");
  EXPECT_EQ(shortened("abcdefghijk", 10), "abcde\u2026hijk");
  EXPECT_EQ(shortened("abcdef", 3), "abc");
  for (std::size_t width = 0; width < 30; ++width) {
    EXPECT_LE(width_of(shortened("a\xE6\xB1\x89z\xE6\xB1\x89\xE6\xB1\x89 e\xCC\x81 0123456789", width)), width);
  }
}

TEST(Cells, TextIsWrappedAtTheTerminalOr100Columns) {
  const std::string text = std::string(50, 'a') + " " + std::string(40, 'b') + " c";
  EXPECT_EQ(wrapped(text, "  ", 0), "  " + text + "\n");
  EXPECT_EQ(wrapped(text, "  ", 80), "  " + std::string(50, 'a') + "\n  " + std::string(40, 'b') + " c\n");
  EXPECT_EQ(wrapped(text, "  ", 1), "  " + text + "\n") << "words are never broken";
}

TEST(Cells, ColumnsOfTextAreFittedToTheTerminal) {
  const std::string row = "  --from live|URL             The kernel of this machine, or a memstatd,\n";
  const std::string text =
      "Usage\n" + row + "                              as a URL\n\n  memstatctl types dentry --from 127.0.0.1:8947\n";
  EXPECT_EQ(fitted(text, 0), text);
  EXPECT_EQ(fitted(text, 80), text);
  EXPECT_EQ(fitted(text, 60),
            "Usage\n"
            "  --from live|URL             The kernel of this machine, or\n"
            "                              a memstatd, as a URL\n\n"
            "  memstatctl types dentry --from 127.0.0.1:8947\n");
  EXPECT_EQ(fitted("  1 x: a b", 8), "  1 x: a b\n") << "not narrower than 20 columns of text";
  EXPECT_EQ(fitted("  long: " + std::string(30, 'a') + " b c\n", 40), "  long: " + std::string(30, 'a') + " b\n  c\n");
}

TEST(Cells, NamesCannotTurnOrHideText) {
  EXPECT_EQ(printable("a\xE2\x80\xAEz"), "a\\u202ez");
  EXPECT_EQ(printable("\xE2\x80\x8B\xE2\x81\xA6\xD8\x9C\xEF\xBB\xBF\xE2\x80\xA8"), "\\u200b\\u2066\\u061c\\ufeff\\u2028");
  EXPECT_EQ(printable("\xF3\xA0\x81\x81"), "\\u0e0041");
  EXPECT_EQ(printable("\xE2\x80\x90\xE2\x82\xAC\xF0\x9F\x98\x80\xEF\xBF\xBD"),
            "\xE2\x80\x90\xE2\x82\xAC\xF0\x9F\x98\x80\xEF\xBF\xBD");
}

TEST(Cells, EachInvalidByteIsReplaced) {
  EXPECT_EQ(printable_bytes(""), "");
  EXPECT_EQ(printable_bytes("/a \xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80/b"), "/a \xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80/b");
  EXPECT_EQ(printable_bytes("a\xFF\x80z"), "a??z");
  EXPECT_EQ(printable_bytes("a\xC3"), "a?");
  EXPECT_EQ(printable_bytes("\xE2\x82z"), "??z");
  EXPECT_EQ(printable_bytes("\xC0\xAF \xE0\x80\x80 \xED\xA0\x80 \xF0\x80\x80\x80 \xF4\x90\x80\x80 \xF5"),
            "?? ??? ??? ???? ???? ?");
  EXPECT_EQ(printable_bytes("\xC2\x9B\n\xFF"), "\\u009b\\x0a?");
}

}  // namespace
}  // namespace memstat::ctl
