// SPDX-License-Identifier: BSD-2-Clause
#include "core/base/amount_text.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "tests/support/fixtures.h"

namespace memstat {
namespace {

std::string prose_of(const std::string& kind, double amount) {
  if (kind == "bytes") return bytes_text(amount);
  if (kind == "percent") return percent_text(amount);
  if (kind == "duration") return duration_words(amount);
  return rate_text(amount, kind == "byte_rate");
}

TEST(AmountText, FollowsTheTableOfExamples) {
  std::istringstream file(read_text(fixture_path("amounts.txt")));
  std::size_t examples = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t space = line.find(' ');
    const std::size_t prose = line.find(" | ");
    const std::size_t cell = line.find(" | ", prose + 1);
    ASSERT_NE(cell, std::string::npos) << line;
    const std::string kind = line.substr(0, space);
    const double amount = std::stod(line.substr(space + 1));
    EXPECT_EQ(prose_of(kind, amount), line.substr(prose + 3, cell - prose - 3)) << line;
    const std::string in_column = kind == "percent"    ? percent_cell(amount)
                                  : kind == "duration" ? duration_cell(amount)
                                                       : "-";
    EXPECT_EQ(in_column, line.substr(cell + 3)) << line;
    ++examples;
  }
  EXPECT_GE(examples, 40U);
}

TEST(AmountText, CountsMillionsInWords) {
  EXPECT_EQ(count_text(1532), "1532");
  EXPECT_EQ(count_text(2.5e6), "2.5 million");
  EXPECT_EQ(amount_text(3e9, false), "3 billion");
  EXPECT_EQ(amount_text(2048, true), "2 KiB");
}

}  // namespace
}  // namespace memstat
