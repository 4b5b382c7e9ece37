// SPDX-License-Identifier: BSD-2-Clause
// Text with one named number per line, such as /proc/meminfo ("MemTotal:  16384 kB") and /proc/vmstat ("nr_free_pages
// 1024"). Unwanted lines are skipped, since every kernel adds some.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

namespace memstat {

/// A wanted number and its value.
struct KeyedNumber {
  std::string_view key;                ///< Without the colon. Empty: not wanted.
  std::optional<std::uint64_t> value;  ///< Nothing if the text has no such line. In bytes if the line is in kB.
};

/// Makes numbers without values, in the order of `rows`; `key_of`: the key of a row.
template <typename Row, std::size_t kCount, typename KeyOf = std::identity>
constexpr std::array<KeyedNumber, kCount> keyed_numbers(const Row (&rows)[kCount], KeyOf key_of = {}) {
  std::array<KeyedNumber, kCount> numbers;
  for (std::size_t i = 0; i < kCount; ++i) numbers[i].key = std::invoke(key_of, rows[i]);
  return numbers;
}

/// Hashes a key to one of 64 bits; most keys get different ones. 0 for an empty key, which no line has.
inline std::uint64_t bit_of_key(std::string_view key) {
  return key.empty() ? 0 : std::uint64_t{1} << (5 * key.size() + static_cast<unsigned char>(key.back())) % 64;
}

/// Fills `numbers` from `text` in one pass. Fastest if they are in the order of the text. Of duplicate names the first line
/// counts. Returns the offset of the first wanted line whose value is not a number of at most 64 bits, or nothing on
/// success. Allocates nothing.
std::optional<std::size_t> read_keyed_numbers(std::string_view text, std::span<KeyedNumber> numbers);

}  // namespace memstat
