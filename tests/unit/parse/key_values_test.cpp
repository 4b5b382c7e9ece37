// SPDX-License-Identifier: BSD-2-Clause
#include "core/parse/key_values.h"

#include "tests/support/test.h"

namespace memstat {
namespace {

TEST(KeyedNumbers, AreFoundInAnyOrderAndConvertedFromKilobytes) {
  std::array<KeyedNumber, 3> numbers{
      {{.key = "MemFree", .value = {}}, {.key = "MemTotal", .value = {}}, {.key = "HugePages_Total", .value = {}}}};
  EXPECT_EQ(read_keyed_numbers("MemTotal:       16 kB\nMemFree: 3 kB\nHugePages_Total:       7\n", numbers), std::nullopt);
  EXPECT_EQ(numbers[0].value, 3072U);
  EXPECT_EQ(numbers[1].value, 16384U);
  EXPECT_EQ(numbers[2].value, 7U);
}

TEST(KeyedNumbers, WithoutAKeyAreNotWanted) {
  std::array<KeyedNumber, 2> numbers{{{.key = "", .value = 5}, {.key = "nr", .value = {}}}};
  EXPECT_EQ(read_keyed_numbers(" 1\n: 2\nnr 3\n", numbers), std::nullopt);
  EXPECT_FALSE(numbers[0].value.has_value());
  EXPECT_EQ(numbers[1].value, 3U);
}

TEST(KeyedNumbers, ThatAreInvalidAreReportedByTheOffsetOfTheirLine) {
  std::array<KeyedNumber, 1> numbers{{{.key = "b", .value = {}}}};
  for (const char* bad :
       {"a 1\nb x\n", "a 1\nb\n", "a 1\nb -1\n", "a 1\nb: 18446744073709551616\n", "a 1\nb: 18014398509481984 kB\n"}) {
    EXPECT_EQ(read_keyed_numbers(bad, numbers), 4U) << bad;
  }
  EXPECT_EQ(read_keyed_numbers("c x\nb 1", numbers), std::nullopt) << "a line that no caller wants, and no last newline";
}

}  // namespace
}  // namespace memstat
