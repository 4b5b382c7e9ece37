// SPDX-License-Identifier: BSD-2-Clause
#include "core/parse/header_table.h"

#include "tests/support/test.h"

namespace memstat {
namespace {

TEST(HeadedTable, FindsColumnsByTheWholeName) {
  EXPECT_EQ(column_of(" entries\tdrop  early_drop", "early_drop"), 2U);
  EXPECT_EQ(column_of("entries drop", "entries"), 0U);
  EXPECT_EQ(column_of("early_drop", "drop"), std::nullopt);
  EXPECT_EQ(column_of("", "drop"), std::nullopt);
}

TEST(HeadedTable, SumsTheColumnsThatAreWanted) {
  std::array<ColumnTotal, 3> columns = {ColumnTotal{"c"}, {"a"}, {"none"}};
  std::size_t rows = 9;
  EXPECT_EQ(sum_columns("a b c\n1 x 2\n3 - a0 new\n", Digits::kHexadecimal, columns, rows), std::nullopt);
  EXPECT_EQ(rows, 2U);
  EXPECT_TRUE(columns[0].is_present);
  EXPECT_EQ(columns[0].first, 2U);
  EXPECT_EQ(columns[0].sum, 0xa2U);
  EXPECT_EQ(columns[1].sum, 4U);
  EXPECT_FALSE(columns[2].is_present);
  EXPECT_EQ(sum_columns("a c\n", Digits::kDecimal, columns, rows), std::nullopt);
  EXPECT_EQ(rows, 0U);
  EXPECT_EQ(columns[0].sum, 0U);
  EXPECT_EQ(columns[0].first, 0U);
}

TEST(HeadedTable, SaysWhichRowIsWrong) {
  std::array<ColumnTotal, 2> columns = {ColumnTotal{"a"}, {"c"}};
  std::size_t rows = 0;
  const auto offset = [&](const std::string& text) { return sum_columns(text, Digits::kDecimal, columns, rows); };
  EXPECT_EQ(offset(""), 0U);
  EXPECT_EQ(offset("a b c"), 0U) << "no end of line";
  EXPECT_EQ(offset("a b c\n1 2 3\n4 5\n"), 12U) << "a value is missing";
  EXPECT_EQ(offset("a b c\n1 2 x\n"), 6U);
  EXPECT_EQ(offset("a b c\n1 2 -1\n"), 6U);
  EXPECT_EQ(offset("a b c\n1 2 3"), 6U);
  EXPECT_EQ(offset("a b c\n\n"), 6U);
  EXPECT_EQ(offset("a b c\n18446744073709551615 2 3\n1 2 3\n"), 31U) << "more than 64 bits together";
}

/// "value,value" of numbers by the names a, b, c.
std::string paired(const std::string& text) {
  std::array<KeyedNumber, 3> numbers = {{{.key = "a", .value = {}}, {.key = "b", .value = {}}, {.key = "c", .value = {}}}};
  if (const auto offset = read_paired_numbers(text, "X:", numbers)) return "wrong at " + std::to_string(*offset);
  std::string words;
  for (const KeyedNumber& number : numbers) words += (number.value ? std::to_string(*number.value) : "-") + " ";
  return words;
}

TEST(PairedNumbers, AreFoundByNameInAnyOrder) {
  EXPECT_EQ(paired("X: a b c\nX: 1 2 3\n"), "1 2 3 ");
  EXPECT_EQ(paired("Y: a b c\nY: 7 8 9\nX: c new a\nX: 1 -1 3\nX: a\nX: 5\n"), "3 - 1 ");
  EXPECT_EQ(paired("X: a a\nX: 1 2\n"), "1 - - ") << "the first of two";
  EXPECT_EQ(paired(""), "- - - ");
  EXPECT_EQ(paired("XY: a\nXY: 1\n"), "- - - ");
}

TEST(PairedNumbers, SayWhichLineIsWrong) {
  EXPECT_EQ(paired("X: a b"), "wrong at 0");
  EXPECT_EQ(paired("X: a b\n"), "wrong at 7");
  EXPECT_EQ(paired("X: a b\nX: 1 2"), "wrong at 7");
  EXPECT_EQ(paired("X: a b\nY: 1 2\n"), "wrong at 7");
  EXPECT_EQ(paired("X: a b\nX: 1\n"), "wrong at 7");
  EXPECT_EQ(paired("X: a b\nX: 1 -2\n"), "wrong at 7");
  EXPECT_EQ(paired("X: a b\nX: 1 18446744073709551616\n"), "wrong at 7");
}

}  // namespace
}  // namespace memstat
