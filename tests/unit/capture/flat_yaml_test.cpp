// SPDX-License-Identifier: BSD-2-Clause
#include "core/capture/flat_yaml.h"

#include "tests/support/test.h"

namespace memstat {
namespace {

/// The value of a file with the one line `key: TEXT`; or the error if it is refused.
std::string value_of(const std::string& text) {
  const auto map = parse_flat_yaml("key: " + text + "\n", "m");
  if (!map) return to_string(map.error());
  const YamlPair* const pair = find_pair(*map, "key");
  return pair == nullptr ? "no pair" : pair->value;
}

TEST(FlatYaml, TakesQuotesAndEscapesOff) {
  EXPECT_EQ(value_of(R"("a\/b \"c\" \\ d")"), R"(a/b "c" \ d)");
  EXPECT_EQ(value_of(R"("1\n2\t3\r4")"), "1\n2\t3\r4");
  EXPECT_EQ(value_of(R"("\x41\x7a\xC3\xa9")"), "Az\xC3\xA9");
  EXPECT_EQ(value_of("'it''s \\n'  # comment"), "it's \\n");
  EXPECT_EQ(value_of("''"), "");
}

TEST(FlatYaml, RefusesQuotedValuesThatDoNotEndAndOtherEscapes) {
  for (const char* bad : {R"("a)", R"("a\)", R"("\q")", R"("\x4)", R"("\x4g")", R"("\xg4")", R"("\x)", "'a", "'a''"}) {
    EXPECT_NE(value_of(bad).find("line 1: key: a quoted value does not end, or holds an escape"), std::string::npos)
        << bad << ": " << value_of(bad);
  }
}

TEST(FlatYaml, RefusesListsThatAreNone) {
  for (const char* bad : {"- {a: 1, a: 2}\n", "- {a: 1\n", "- {a}\n", "a: 1\n", "- {a: \"1}\n", "- {a: '1' b: 2}\n"}) {
    const auto list = parse_yaml_list(bad, "m");
    EXPECT_TRUE(!list && to_string(list.error()).find("line 1") != std::string::npos) << bad;
  }
  const auto list = parse_yaml_list("- {a: 'x''y', b: \"}\"}\n", "m");
  ASSERT_TRUE(list) << to_string(list.error());
  EXPECT_EQ(list->at(0).at(0).value, "x'y");
  EXPECT_EQ(list->at(0).at(1).value, "}");
}

}  // namespace
}  // namespace memstat
