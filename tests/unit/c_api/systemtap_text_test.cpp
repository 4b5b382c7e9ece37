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

TEST(BytesToString, IsBytesBelowAKilobyte) {
  EXPECT_EQ(text_of(0), "    0");
  EXPECT_EQ(text_of(9), "    9");
  EXPECT_EQ(text_of(100), "  100");
  EXPECT_EQ(text_of(999), "  999");
  EXPECT_EQ(text_of(1023), " 1023");
}

TEST(BytesToString, HasOneDecimalBelowAHundredAndNoneFromThere) {
  EXPECT_EQ(text_of(kK), " 1.0K");
  EXPECT_EQ(text_of(kK + 102), " 1.0K");
  EXPECT_EQ(text_of(kK + 103), " 1.1K") << "102.4 B are a tenth";
  EXPECT_EQ(text_of(2 * kK - 1), " 1.9K");
  EXPECT_EQ(text_of(10 * kK - 1), " 9.9K");
  EXPECT_EQ(text_of(10 * kK), "10.0K");
  EXPECT_EQ(text_of(100 * kK - 1), "99.9K") << "cut, not rounded: 100.0K would be six characters";
  EXPECT_EQ(text_of(100 * kK), " 100K");
  EXPECT_EQ(text_of(101 * kK - 1), " 100K");
}

TEST(BytesToString, GoesFromKToMToG) {
  EXPECT_EQ(text_of(kM - 1), "1023K");
  EXPECT_EQ(text_of(kM), " 1.0M");
  EXPECT_EQ(text_of(100 * kM - 1), "99.9M");
  EXPECT_EQ(text_of(100 * kM), " 100M");
  EXPECT_EQ(text_of(kG - 1), "1023M");
  EXPECT_EQ(text_of(kG), " 1.0G");
  EXPECT_EQ(text_of(100 * kG - 1), "99.9G");
  EXPECT_EQ(text_of(100 * kG), " 100G");
}

TEST(BytesToString, HasNoUnitBeyondGAndGrowsWiderThen) {
  EXPECT_EQ(text_of(1024 * kG), "1024G");
  EXPECT_EQ(text_of(10000 * kG - 1), "9999G");
  EXPECT_EQ(text_of(10000 * kG), "10000G");
  EXPECT_EQ(text_of(~std::uint64_t{0}), "17179869183G");
}

TEST(BytesToString, IsTheAmountCutOffAndFiveWideForEveryMagnitude) {
  for (unsigned shift = 0; shift < 64; ++shift) {
    for (const std::uint64_t factor :
         {std::uint64_t{1}, std::uint64_t{3}, std::uint64_t{5}, std::uint64_t{25}, std::uint64_t{99}}) {
      for (const std::uint64_t off : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
        if ((factor << shift) >> shift != factor) continue;
        const std::uint64_t bytes = (factor << shift) + off;
        const std::string text = text_of(bytes);
        if (bytes < 10000 * kG) {
          EXPECT_EQ(text.size(), 5U) << bytes;
        }
        const std::size_t unit = std::string("KMG").find(text.back());
        const double step = unit == std::string::npos ? 1 : std::pow(1024.0, static_cast<double>(unit + 1));
        const double shown = std::stod(text) * step;
        const double grain = text.find('.') == std::string::npos ? step : step / 10;
        EXPECT_LE(shown, static_cast<double>(bytes) * (1 + 1e-9)) << bytes << " as " << text;
        EXPECT_LT(static_cast<double>(bytes) - shown, grain * 1.001) << bytes << " as " << text;
      }
    }
  }
}

TEST(ProcMemString, IsTheTapsetsLine) {
  const ProcessMemory memory{.size = 301 * kM, .resident = 11 * kM, .shared = 8 * kM, .text = 52 * kK, .data = 2248 * kK};
  EXPECT_EQ(proc_mem_string(memory).view(), "size: 301m, rss: 11m, shr: 8m, txt: 52k, data: 2248k");
}

TEST(ProcMemString, IsExactWhileFourDigitsDoAndShortOtherwise) {
  const auto size = [](std::uint64_t bytes) {
    const ShortText<128> text = proc_mem_string({.size = bytes});
    return std::string(text.view().substr(0, text.view().find(',')));
  };
  EXPECT_EQ(size(0), "size: 0");
  EXPECT_EQ(size(1023), "size: 1023");
  EXPECT_EQ(size(kK), "size: 1k");
  EXPECT_EQ(size(1500), "size: 1500") << "no kernel has parts of pages; still exact";
  EXPECT_EQ(size(9999), "size: 9999");
  EXPECT_EQ(size(10001), "size: 9.7k");
  EXPECT_EQ(size(9996 * kK), "size: 9996k");
  EXPECT_EQ(size(10004 * kK), "size: 9.7m");
  EXPECT_EQ(size(308300 * kK), "size: 301m");
  EXPECT_EQ(size(kG), "size: 1g");
  EXPECT_EQ(size(9999 * kG), "size: 9999g");
  EXPECT_EQ(size(10000 * kG), "size: 10000g");
}

TEST(ProcMemString, HasRoomForTheLargestNumbers) {
  const std::uint64_t most = ~std::uint64_t{0};
  EXPECT_EQ(proc_mem_string({.size = most, .resident = most, .shared = most, .text = most, .data = most}).view(),
            "size: 17179869183g, rss: 17179869183g, shr: 17179869183g, txt: 17179869183g, data: 17179869183g");
  EXPECT_EQ(proc_mem_string({}).view(), "size: 0, rss: 0, shr: 0, txt: 0, data: 0");
}

}  // namespace
}  // namespace memstat
