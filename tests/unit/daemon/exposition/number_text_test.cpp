// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/exposition/number_text.h"

#include "tests/support/test.h"

namespace memstat {
namespace {

template <typename Number>
std::string text_of(Number number) {
  char text[kNumberRoom];
  return {text, static_cast<std::size_t>(write_number(text, number) - text)};
}

std::string seconds_text(std::int64_t nanoseconds) {
  char text[2 * kNumberRoom];
  return {text, static_cast<std::size_t>(write_seconds(text, nanoseconds) - text)};
}

TEST(NumberText, OfEveryDigitCountAndBoundaryIsThatOfTheStandardLibrary) {
  const auto check = [](std::uint64_t value) {
    ASSERT_EQ(text_of(value), std::to_string(value));
    ASSERT_EQ(digit_count(value), std::to_string(value).size()) << value;
    const auto as_signed = static_cast<std::int64_t>(value);
    ASSERT_EQ(text_of(as_signed), std::to_string(as_signed));
  };
  std::uint64_t power = 1;
  for (int digits = 0; digits < 20; ++digits, power *= 10) {
    for (const std::uint64_t near : {power - 1, power, power + 1, 2 * power, 9 * power, power / 2 * 3}) {
      check(near);
      check(0 - near);
    }
  }
  for (unsigned bit = 0; bit < 64; ++bit) {
    const std::uint64_t value = std::uint64_t{1} << bit;
    for (const std::uint64_t near : {value - 1, value, value + 1}) check(near);
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < 100'000; ++i) check(random() >> (random() % 64));
  for (std::uint64_t value = 0; value < 20'000; ++value) check(value);
  check(std::numeric_limits<std::uint64_t>::max());
}

TEST(NumberText, OfADoubleReadsBackAsTheSameDouble) {
  const auto check = [](double value) {
    const std::string text = text_of(value);
    ASSERT_LE(text.size(), 25U) << text;
    ASSERT_EQ(std::strtod(text.c_str(), nullptr), value) << text;
  };
  std::mt19937_64 random(2);
  for (int i = 0; i < 100'000; ++i) {
    const auto any = std::bit_cast<double>(random());
    if (std::isfinite(any)) check(any);
    check(static_cast<double>(static_cast<std::int64_t>(random() >> 20U)) / 1000);
    check(-static_cast<double>(random() >> 30U) / 8);
  }
  for (const double value : {1e15, 9e12, 9.0072e12, 8999999999999.999, 1e300, 5e-324, 1e-5, 9.9e-6, 0.1 + 0.2, 1e22, 2e53,
                             std::numeric_limits<double>::max(), std::numeric_limits<double>::min()}) {
    check(value);
    check(-value);
  }
}

TEST(NumberText, OfAUsualDoubleIsPlain) {
  EXPECT_EQ(text_of(0.0), "0");
  EXPECT_EQ(text_of(-0.0), "0");
  EXPECT_EQ(text_of(1.0), "1");
  EXPECT_EQ(text_of(-1.5), "-1.5");
  EXPECT_EQ(text_of(0.0001), "0.0001");
  EXPECT_EQ(text_of(0.001), "0.001");
  EXPECT_EQ(text_of(0.01), "0.01");
  EXPECT_EQ(text_of(-0.001), "-0.001");
  EXPECT_EQ(text_of(1234.05), "1234.05");
  EXPECT_EQ(text_of(1700000000.123456), "1700000000.123456");
  EXPECT_EQ(text_of(std::numeric_limits<double>::infinity()), "+Inf");
  EXPECT_EQ(text_of(-std::numeric_limits<double>::infinity()), "-Inf");
  EXPECT_EQ(text_of(std::numeric_limits<double>::quiet_NaN()), "NaN");
}

TEST(NumberText, OfATimeHasAsManyDecimalsAsItNeeds) {
  EXPECT_EQ(seconds_text(0), "0");
  EXPECT_EQ(seconds_text(1), "0.000000001");
  EXPECT_EQ(seconds_text(1'700'000'000'000'000'000), "1700000000");
  EXPECT_EQ(seconds_text(1'700'000'000'250'000'000), "1700000000.25");
  EXPECT_EQ(seconds_text(std::numeric_limits<std::int64_t>::max()), "9223372036.854775807");
}

}  // namespace
}  // namespace memstat
