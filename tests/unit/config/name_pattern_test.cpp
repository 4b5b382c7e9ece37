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

TEST(NamePattern, UnderstandsWhatPrometheusDoes) {
  EXPECT_TRUE(compiled("kmalloc-[0-9]+k?").matches("kmalloc-96"));
  EXPECT_TRUE(compiled("^kmalloc-.*$").matches("kmalloc-rnd-01-8k"));
  EXPECT_TRUE(compiled("[[:alpha:]_]+").matches("task_struct"));
  EXPECT_TRUE(compiled("[]x]{2,3}").matches("]x]"));
  EXPECT_TRUE(compiled("[^]]").matches("a"));
  EXPECT_TRUE(compiled("a\\.b\\{c\\}").matches("a.b{c}"));
  EXPECT_TRUE(compiled("a{2,}").matches("aaa"));
  EXPECT_FALSE(compiled("a{2,}").matches("a"));
  EXPECT_TRUE(compiled("[\\d]").matches("7"));
  EXPECT_TRUE(compiled("(?i)SLAB-\\w+").matches("slab-x1"));
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

TEST(NamePattern, ReadsNoFurtherThanTheName) {
  // The view ends inside a longer text: the rest must not count.
  const std::string text = "slab-1";
  EXPECT_TRUE(compiled("slab").matches(std::string_view(text).substr(0, 4)));
  // And memory that ends with the name, so that the address sanitizer detects a read beyond it.
  const std::vector<char> exact = {'s', 'l', 'a', 'b'};
  EXPECT_TRUE(compiled("slab").matches({exact.data(), exact.size()}));
  EXPECT_TRUE(compiled("a*").matches({}));
}

TEST(NamePattern, LongNamesAreMatchedWithoutDeepRecursion) {
  const std::string name(1 << 20, 'a');
  EXPECT_TRUE(compiled("(a|b)*").matches(name));
  EXPECT_FALSE(compiled("(a|b)*c").matches(name));
  EXPECT_TRUE(compiled("[[:alpha:]]+").matches(std::string(4096, 'x')));
}

TEST(NamePattern, NamesOfAnyBytesAreTaken) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_FALSE(compiled("slab.*").matches(all));
  EXPECT_TRUE(compiled("caf\xC3\xA9").matches("caf\xC3\xA9"));
}

TEST(NamePattern, RefusesInvalidOrCostlyPatterns) {
  for (const std::string& pattern : std::vector<std::string>{"",
                                                             "(",
                                                             ")",
                                                             "a)|(b",
                                                             "*a",
                                                             "a**",
                                                             "+",
                                                             "(a)\\1",
                                                             "a\\",
                                                             "[a",
                                                             "[]",
                                                             "[[:alpha:]",
                                                             "[[:alpha",
                                                             "{2}",
                                                             "a{3,2}",
                                                             "a{1001}",
                                                             "(?=a)",
                                                             "[z-a]",
                                                             "(((a{99}){99}){99})",
                                                             std::string("a\0b", 3),
                                                             std::string(1025, 'a')}) {
    const auto result = NamePattern::compile(pattern);
    ASSERT_TRUE(fails(result, {.code = ErrorCode::kData, .detail = "is not a regular expression: "})) << pattern;
    EXPECT_EQ(result.error().detail.find('\0'), std::string::npos);
  }
}

TEST(NamePattern, NestedRepetitionsTakeNoTimeThatGrowsWithThem) {
  const std::string name = std::string(4096, 'a') + "b";
  EXPECT_FALSE(compiled("((((((((((a+)+)+)+)+)+)+)+)+)+)+").matches(name));
  EXPECT_TRUE(compiled(std::string(21, '(') + "a*" + std::string(21, ')') + "b").matches(name));
}

TEST(NamePattern, TheLongestPatternIsTaken) {
  const std::string pattern(NamePattern::kMaxPatternBytes, 'a');
  EXPECT_TRUE(compiled(pattern).matches(pattern));
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

TEST(NamePattern, OneObjectServesSeveralThreads) {
  const NamePattern pattern = compiled("(a|b)*c[0-9]{1,3}");
  std::array<int, 4> wrong{};
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&pattern, &count = wrong[t]] {
      for (int i = 0; i < 300; ++i) {
        if (!pattern.matches("abbac" + std::to_string(i))) ++count;
        if (pattern.matches("abbax" + std::to_string(i))) ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int count : wrong) EXPECT_EQ(count, 0);
}

}  // namespace
}  // namespace memstat
