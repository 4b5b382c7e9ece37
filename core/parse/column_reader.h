// SPDX-License-Identifier: BSD-2-Clause
// Parses decimal numbers in the kernel's blank-padded columns, eight bytes at a time. A loop over single digits spends most
// of its time on mispredicted branches, because the numbers differ in length.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/base/text.h"

namespace memstat {

/// Reads numbers forward from `at`, which must be in `[begin, end)`. Never reads outside this range.
class ColumnReader {
 public:
  ColumnReader(const char* begin, const char* at, const char* end) : begin_(begin), at_(at), end_(end) {}

  [[nodiscard]] const char* at() const { return at_; }

  /// Like take(), but fast for a number right-aligned in a column of `kWidth` characters after one blank, as printf(" %6lu")
  /// writes it. Longer numbers still work.
  template <unsigned kWidth>
  bool take_column(std::uint64_t& value) {
    static_assert(kWidth >= 1 && kWidth <= 7);
    if constexpr (std::endian::native == std::endian::little) {
      const char* stop = at_ + kWidth + 1;
      if (end_ - at_ > static_cast<std::ptrdiff_t>(kWidth) && stop - begin_ >= 8 && (stop == end_ || *stop == ' ')) {
        // The highest bytes of the word are the column; the byte below them is its blank.
        constexpr std::uint64_t kColumn = ~std::uint64_t{0} << (64 - 8 * kWidth);
        constexpr std::uint64_t kBlank = (~std::uint64_t{0} << (56 - 8 * kWidth)) ^ kColumn;
        const std::uint64_t text = word(stop - 8);
        const std::uint64_t values = text ^ 0x3030303030303030U;
        const std::uint64_t others = (((values & ~kHighBits) + 0x7676767676767676U) | values) & kHighBits;
        const std::uint64_t other_bytes = (others >> 7U) * 255;
        // Errors: a byte that is neither digit nor blank, a blank after a digit, no digit at the end, no blank before the
        // column.
        const std::uint64_t wrong = ((text ^ kBlanks) & other_bytes & (kColumn | kBlank)) |
                                    ((~others << 8U) & others & kColumn & kHighBits) | (other_bytes >> 56U) |
                                    (~other_bytes & kBlank);
        if (wrong == 0) {
          value = eight_digits(text & kColumn);
          at_ = stop;
          return true;
        }
      }
    }
    return take(value);
  }

  /// Skips blanks and parses the digits after them. Returns false, with at() unchanged, if there are none or if the number
  /// does not fit in 64 bits.
  bool take(std::uint64_t& value) {
    if constexpr (std::endian::native == std::endian::little) {
      if (end_ - at_ >= 16) {
        const std::uint64_t blanks = word(at_) ^ kBlanks;
        if (blanks != 0) {
          const char* digits = at_ + std::countr_zero(blanks) / 8;
          const std::uint64_t text = word(digits);
          const std::uint64_t others = not_digits(text);
          if (others != 0) {
            const int length = std::countr_zero(others) / 8;
            if (length == 0) return false;
            value = eight_digits(text << (64 - 8 * length));
            at_ = digits + length;
            return true;
          }
        }
      }
    }
    return take_slowly(value);
  }

  /// Skips blanks. Returns whether `c` follows.
  bool skip_to(char c) {
    while (at_ < end_ && *at_ == ' ') ++at_;
    return at_ < end_ && *at_ == c;
  }

 private:
  static constexpr std::uint64_t kBlanks = 0x2020202020202020U;
  static constexpr std::uint64_t kHighBits = 0x8080808080808080U;

  static std::uint64_t word(const char* at) {
    std::uint64_t value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  /// Sets the high bit of each byte that is not a digit; exact only up to the first such byte.
  static std::uint64_t not_digits(std::uint64_t text) {
    const std::uint64_t values = text ^ 0x3030303030303030U;
    return (values | (values + 0x7676767676767676U)) & 0x8080808080808080U;
  }
  /// Converts eight digits, the first one in the lowest byte. Zero bytes count as the digit 0.
  static std::uint64_t eight_digits(std::uint64_t text) {
    text = (text & 0x0F0F0F0F0F0F0F0FU) * 2561 >> 8U;
    text = (text & 0x00FF00FF00FF00FFU) * 6553601 >> 16U;
    return (text & 0x0000FFFF0000FFFFU) * 42949672960001U >> 32U;
  }
  bool take_slowly(std::uint64_t& value) {
    const char* begin = at_;
    while (begin < end_ && *begin == ' ') ++begin;
    const char* stop = begin;
    while (stop < end_ && *stop >= '0' && *stop <= '9') ++stop;
    const auto number = parse_u64({begin, static_cast<std::size_t>(stop - begin)});
    if (!number) return false;
    value = *number;
    at_ = stop;
    return true;
  }

  const char* begin_;
  const char* at_;
  const char* end_;
};

}  // namespace memstat
