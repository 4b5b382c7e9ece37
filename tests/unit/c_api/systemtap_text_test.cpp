// SPDX-License-Identifier: BSD-2-Clause
// Amounts as text: every edge of the rules, and the rules themselves over amounts of all magnitudes.
#include "core/c_api/systemtap_text.h"

#include "tests/support/test.h"

#include <cmath>

namespace memstat {
namespace {

constexpr std::uint64_t kK = 1024;
constexpr std::uint64_t kM = 1024 * kK;
constexpr std::uint64_t kG = 1024 * kM;

std::string text_of(std::uint64_t bytes) { return std::string(bytes_to_string(bytes).view()); }

TEST(BytesToString, HasAtMostFourDigitsAndAUnit) {
  const std::pair<std::uint64_t, const char*> rows[] = {
      {0, "    0"},
      {1023, " 1023"},
      {kK, " 1.0K"},
      {kK + 102, " 1.0K"},
      {kK + 103, " 1.1K"},  // 102.4 B are a tenth
      {10 * kK - 1, " 9.9K"},
      {10 * kK, "10.0K"},
      {100 * kK - 1, "99.9K"},  // cut, not rounded: 100.0K would be six characters
      {100 * kK, " 100K"},
      {kM - 1, "1023K"},
      {kM, " 1.0M"},
      {kG - 1, "1023M"},
      {kG, " 1.0G"},
      {1024 * kG, "1024G"},
      {10000 * kG, "10000G"},  // no unit beyond it
      {~std::uint64_t{0}, "17179869183G"},
  };
  for (const auto& [bytes, text] : rows) EXPECT_EQ(text_of(bytes), text);
}

TEST(ProcMemString, IsTheTapsetsLine) {
  const ProcessMemory memory{.size = 301 * kM, .resident = 11 * kM, .shared = 8 * kM, .text = 52 * kK, .data = 2248 * kK};
  EXPECT_EQ(proc_mem_string(memory).view(), "size: 301m, rss: 11m, shr: 8m, txt: 52k, data: 2248k");
}

TEST(ProcMemString, IsExactWhileFourDigitsDoAndShortOtherwise) {
  const std::pair<std::uint64_t, const char*> rows[] = {{1023, "size: 1023"},       {kK, "size: 1k"},
                                                        {1500, "size: 1500"},       {9999, "size: 9999"},
                                                        {10001, "size: 9.7k"},      {9996 * kK, "size: 9996k"},
                                                        {10004 * kK, "size: 9.7m"}, {308300 * kK, "size: 301m"},
                                                        {9999 * kG, "size: 9999g"}, {10000 * kG, "size: 10000g"}};
  for (const auto& [bytes, text] : rows) EXPECT_THAT(std::string(proc_mem_string({.size = bytes}).view()), StartsWith(text));
}

TEST(ProcMemString, HasRoomForTheLargestNumbers) {
  const std::uint64_t most = ~std::uint64_t{0};
  EXPECT_EQ(proc_mem_string({.size = most, .resident = most, .shared = most, .text = most, .data = most}).view(),
            "size: 17179869183g, rss: 17179869183g, shr: 17179869183g, txt: 17179869183g, data: 17179869183g");
  EXPECT_EQ(proc_mem_string({}).view(), "size: 0, rss: 0, shr: 0, txt: 0, data: 0");
}

}  // namespace
}  // namespace memstat
