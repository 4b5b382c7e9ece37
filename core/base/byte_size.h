// SPDX-License-Identifier: BSD-2-Clause
// Sizes in bytes as text, in powers of 1024.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/text.h"

namespace memstat {

inline constexpr std::array<std::string_view, 7> kByteUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};

template <typename Number>
struct ByteSize {
  Number number;
  std::string_view unit;
};

/// The largest unit without a fraction: {64, "KiB"}.
constexpr ByteSize<std::uint64_t> exact_size(std::uint64_t bytes) {
  std::size_t unit = 0;
  for (; bytes != 0 && bytes % 1024 == 0; ++unit) bytes /= 1024;
  return {.number = bytes, .unit = kByteUnits[unit]};
}

/// The smallest unit in which the rounded number is below 1024: {1.5, "GiB"}. Requires bytes >= 0.
constexpr ByteSize<double> rounded_size(double bytes) {
  std::size_t unit = 0;
  for (; bytes >= 1023.5 && unit + 1 < kByteUnits.size(); ++unit) bytes /= 1024;
  return {.number = bytes, .unit = kByteUnits[unit]};
}

/// Parses "512", "64KiB", "2MiB" or "4GiB", up to 2^63 - 1 bytes.
inline std::optional<std::uint64_t> parse_byte_size(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = parse_u64(text.substr(0, digits));
  const std::string_view unit = text.substr(digits);
  for (std::size_t i = 0; number && i <= 3; ++i) {
    if (unit != (i == 0 ? "" : kByteUnits[i])) continue;
    if (*number > (~std::uint64_t{0} >> 1U) >> 10 * i) return std::nullopt;
    return *number << 10 * i;
  }
  return std::nullopt;
}

}  // namespace memstat
