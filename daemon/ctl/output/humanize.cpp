// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/output/humanize.h"

#include <string_view>

namespace memstat::ctl {
namespace {

std::string humanize_magnitude(std::uint64_t value, Base base, bool has_decimal) {
  const std::uint64_t divisor = base == Base::k1000 ? 1000 : 1024;
  const std::string_view units = base == Base::k1000 ? "kMGTPE" : "KMGTPE";

  // In hundredths, rounding down at each division as in the original. 100 times a value may exceed 64 bits, so whole
  // units and the rest are kept separate until they fit.
  std::size_t scale = 0;
  for (std::uint64_t left = value / divisor; left != 0; left /= divisor) ++scale;
  std::uint64_t whole = value;
  std::uint64_t rest = 0;  // hundredths
  for (std::size_t i = 0; i < scale; ++i) {
    const std::uint64_t hundredths = whole % divisor * 100 + rest;
    whole /= divisor;
    rest = hundredths / divisor;
  }

  std::string text;
  if (const std::uint64_t hundredths = whole < 10 ? whole * 100 + rest : 1000;
      hundredths < 995 && scale > 0 && has_decimal) {
    const std::uint64_t tenths = (hundredths + 5) / 10;
    text = std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
  } else {
    text = std::to_string(whole + (rest >= 50 ? 1 : 0));
  }
  if (scale > 0) text += units[scale - 1];
  return text;
}

}  // namespace

std::string humanize(std::uint64_t value, Base base, bool has_decimal) {
  const bool is_negative = value >> 63U != 0;
  return (is_negative ? "-" : "") + humanize_magnitude(is_negative ? 0 - value : value, base, has_decimal);
}

}  // namespace memstat::ctl
