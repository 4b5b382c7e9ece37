// SPDX-License-Identifier: BSD-2-Clause
#include "core/parse/pressure.h"

#include "tests/support/test.h"

namespace memstat {
namespace {

const std::string kPressureText =
    "some avg10=0.00 avg60=0.07 avg300=0.41 total=122114152\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=9880833\n";

TEST(ReadPressure, HasTheTotalsOfBothKinds) {
  Pressure pressure;
  EXPECT_FALSE(read_pressure(kPressureText, pressure));
  EXPECT_EQ(pressure.some, 122114152U);
  EXPECT_EQ(pressure.full, 9880833U);
}

TEST(ReadPressure, OmitsMissingLines) {
  Pressure pressure;
  EXPECT_FALSE(read_pressure("", pressure));
  EXPECT_FALSE(read_pressure("\nirq total=x\n", pressure));
  EXPECT_FALSE(pressure.some || pressure.full);
  EXPECT_FALSE(read_pressure("some total=1\nsome total=x\n", pressure)) << "the first counts";
  EXPECT_EQ(pressure.some, 1U);
}

TEST(ReadPressure, FindsTheLineThatIsCut) {
  for (std::size_t size = 1; size < kPressureText.size(); ++size) {
    Pressure pressure;
    const std::size_t begin_of_last_line = size <= kPressureText.find("full") ? 0 : kPressureText.find("full");
    const bool is_whole = kPressureText[size - 1] == '\n';
    const auto wrong = read_pressure(std::string_view(kPressureText).substr(0, size), pressure);
    EXPECT_EQ(wrong, is_whole ? std::nullopt : std::optional(begin_of_last_line)) << size;
  }
}

}  // namespace
}  // namespace memstat
