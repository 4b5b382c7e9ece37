// SPDX-License-Identifier: BSD-2-Clause
#include "core/base/amount_text.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>

#include "core/base/byte_size.h"

namespace memstat {
namespace {

std::string with_digits(double number, std::string_view unit) {
  std::array<char, 40> room{};
  const bool has_decimal = number < 9.95 && std::abs(number - std::round(number)) >= 0.05;
  std::snprintf(room.data(), room.size(), has_decimal ? "%.1f" : "%.0f", number);
  return std::string(room.data()) + std::string(unit);
}

struct PercentWords {
  std::string_view almost_none;
  std::string_view sign;
};

std::string percent(double share, const PercentWords& words) {
  const double percent = 100 * share;
  if (share > 0 && percent < 0.05) return std::string(words.almost_none);
  if (share < 1 && percent >= 99.5) {  // rounding would make it all
    std::array<char, 16> room{};
    std::snprintf(room.data(), room.size(), "%.1f", std::floor(10 * percent) / 10);
    return std::string(room.data()).append(words.sign);
  }
  return with_digits(percent < 0.95 ? percent : std::round(percent), words.sign);
}

struct DurationWords {
  std::array<std::string_view, 5> units;
  std::string_view very_long;
};

std::string duration(double seconds, const DurationWords& words) {
  constexpr double kDay = 86400;
  constexpr double kYear = 365 * kDay;
  if (!(seconds < 100 * kYear)) return std::string(words.very_long);
  if (seconds < 100) return with_digits(std::round(seconds), words.units[0]);
  if (seconds < 100 * 60) return with_digits(std::round(seconds / 60), words.units[1]);
  if (seconds < 2 * kDay) return with_digits(seconds / 3600, words.units[2]);
  if (seconds < 2 * kYear) return with_digits(std::round(seconds / kDay), words.units[3]);
  return with_digits(seconds / kYear, words.units[4]);
}

}  // namespace

std::string bytes_text(double bytes) {
  const auto [number, unit] = rounded_size(std::abs(bytes));
  return (bytes < 0 ? "-" : "") + with_digits(number, " ").append(unit);
}

std::string count_text(double count) {
  if (std::abs(count) >= 1e9) return with_digits(count / 1e9, " billion");
  if (std::abs(count) >= 1e6) return with_digits(count / 1e6, " million");
  return with_digits(std::round(count), "");
}

std::string amount_text(double amount, bool is_bytes) { return is_bytes ? bytes_text(amount) : count_text(amount); }

std::string percent_text(double share) { return percent(share, {.almost_none = "less than 0.1 %", .sign = " %"}); }

std::string percent_cell(double share) { return percent(share, {.almost_none = "<0.1%", .sign = "%"}); }

std::string duration_words(double seconds) {
  return duration(seconds, {.units = {" s", " min", " h", " d", " y"}, .very_long = "over 100 y"});
}

std::string duration_cell(double seconds) {
  return duration(seconds, {.units = {"s", "m", "h", "d", "y"}, .very_long = ">100y"});
}

std::string rate_text(double per_second, bool is_bytes) {
  const double readable = is_bytes ? 1048576 : 1;
  const double size = std::abs(per_second);
  if (size >= readable) return amount_text(per_second, is_bytes) + "/s";
  if (60 * size >= readable) return amount_text(60 * per_second, is_bytes) + "/min";
  return amount_text(3600 * per_second, is_bytes) + "/h";
}

}  // namespace memstat
