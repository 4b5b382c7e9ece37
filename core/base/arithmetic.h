// SPDX-License-Identifier: BSD-2-Clause
// Overflow-safe arithmetic on kernel figures, which may be any number.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace memstat {

/// The sum, or the largest number on overflow.
constexpr std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::uint64_t>::max() : sum;
}

/// At least 0: figures that are not read at the same instant may have changed places.
constexpr std::uint64_t without(std::uint64_t whole, std::uint64_t part) { return whole < part ? 0 : whole - part; }

/// The product, or the largest number on overflow.
constexpr std::uint64_t saturating_product(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::uint64_t>::max() : product;
}

/// Clamps `value` to the largest signed number.
constexpr std::int64_t saturating_signed(std::uint64_t value) {
  return static_cast<std::int64_t>(std::min<std::uint64_t>(value, std::numeric_limits<std::int64_t>::max()));
}

/// Adds `amount` to `figure`. Returns false on overflow.
constexpr bool add_to(std::uint64_t& figure, std::uint64_t amount) {
  return !__builtin_add_overflow(figure, amount, &figure);
}

}  // namespace memstat
