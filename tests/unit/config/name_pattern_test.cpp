// SPDX-License-Identifier: BSD-2-Clause
#include "config/name_pattern.h"
#include "tests/support/result_checks.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

using namespace std::string_view_literals;

NamePattern compiled(std::string_view pattern) {
  auto result = NamePattern::compile(pattern);
  EXPECT_TRUE(result) << pattern << ": " << to_string(result.error());
  return result ? *result : NamePattern();
}

TEST(NamePattern, MatchesTheWholeNameOnly) {
  const NamePattern slab = compiled("slab");
  EXPECT_TRUE(slab.matches("slab"));
  EXPECT_FALSE(slab.matches("slab-1"));
  EXPECT_FALSE(slab.matches("a slab"));
  EXPECT_FALSE(slab.matches("slab\n"));
  EXPECT_FALSE(slab.matches("x\nslab"));
  EXPECT_FALSE(slab.matches(""));
}

TEST(NamePattern, AlternativesAreAnchoredAsAWhole) {
  const NamePattern either = compiled("a|b+");
  EXPECT_TRUE(either.matches("a"));
  EXPECT_TRUE(either.matches("bb"));
  EXPECT_FALSE(either.matches("ab"));
  EXPECT_FALSE(either.matches("xa"));
}

TEST(NamePattern, DefaultAndDotStarMatchEverything) {
  EXPECT_EQ(NamePattern().text(), ".*");
  EXPECT_TRUE(NamePattern().matches(""));
  EXPECT_TRUE(NamePattern().matches("a\0b"sv));
  EXPECT_TRUE(compiled(".*").matches(""));
  EXPECT_TRUE(compiled(".*").matches("any\nthing"));
  EXPECT_EQ(compiled(".*"), NamePattern());
}

TEST(NamePattern, ANulDoesNotEndTheName) {
  EXPECT_FALSE(compiled("slab").matches("slab\0hidden"sv));
  EXPECT_FALSE(compiled("slab").matches("\0slab"sv));
  EXPECT_TRUE(compiled("[^x]*").matches("slab\0hidden"sv));
}

TEST(NamePattern, RefusesInvalidOrCostlyPatterns) {
  for (const std::string_view pattern : {"", "(", ")", "a)|(b", "*a", "a**", "+", "(a)\\1", "a\\", "[a", "[]", "[[:alpha:]",
                                         "{2}", "a{3,2}", "a{1001}", "(?=a)", "[z-a]", "(((a{99}){99}){99})"}) {
    EXPECT_TRUE(fails(NamePattern::compile(pattern), {.code = ErrorCode::kData, .detail = "is not a regular expression: "}))
        << pattern;
  }
  for (const std::string& pattern : {std::string("a\0b", 3), std::string(NamePattern::kMaxPatternBytes + 1, 'a')}) {
    const auto result = NamePattern::compile(pattern);
    ASSERT_TRUE(fails(result, {.code = ErrorCode::kData, .detail = "is not a regular expression: "})) << pattern;
    EXPECT_EQ(result.error().detail.find('\0'), std::string::npos);
  }
}

TEST(NamePattern, CopiesOutliveTheOriginal) {
  NamePattern copy;
  {
    const NamePattern original = compiled("a+");
    copy = original;
    EXPECT_EQ(copy, original);
  }
  EXPECT_TRUE(copy.matches("aaa"));
  EXPECT_FALSE(copy.matches("b"));
  EXPECT_EQ(copy.text(), "a+");
}

}  // namespace
}  // namespace memstat
