// SPDX-License-Identifier: BSD-2-Clause
#include "core/parse/key_values.h"

#include "core/base/text.h"

namespace memstat {

namespace {

/// Whether the line begins with this key as a word, and a value may follow.
bool begins_with_key(std::string_view line, std::string_view key) {
  if (key.empty() || !line.starts_with(key)) return false;
  line.remove_prefix(key.size());
  if (line.starts_with(':')) line.remove_prefix(1);
  return line.starts_with(' ') || line.starts_with('\t');
}

}  // namespace

std::optional<std::size_t> read_keyed_numbers(std::string_view text, std::span<KeyedNumber> numbers) {
  for (KeyedNumber& number : numbers) number.value.reset();
  std::string_view rest = text;
  std::string_view line;
  std::size_t expected = 0;  // index after the number found last
  std::size_t missing = numbers.size();
  std::uint64_t wanted = 0;
  for (const KeyedNumber& number : numbers) wanted |= bit_of_key(number.key);
  while (missing > 0) {
    const std::size_t offset = text.size() - rest.size();
    if (!next_line(rest, line)) break;
    if (expected == numbers.size()) expected = 0;
    std::size_t index = expected;
    if (begins_with_key(line, numbers[index].key)) {
      line.remove_prefix(numbers[index].key.size());
      if (line.starts_with(':')) line.remove_prefix(1);
    } else {
      std::string_view key;
      if (!next_word(line, key)) continue;
      if (key.ends_with(':')) key.remove_suffix(1);
      if ((wanted & bit_of_key(key)) == 0) continue;
      index = 0;
      while (index < numbers.size() && numbers[index].key != key) ++index;
      if (index == numbers.size()) continue;
    }
    expected = index + 1;
    if (numbers[index].value) continue;
    std::string_view word;
    auto value = next_word(line, word) ? parse_u64(word) : std::nullopt;
    std::uint64_t bytes = 0;
    if (value && next_word(line, word) && word == "kB") {
      if (__builtin_mul_overflow(*value, std::uint64_t{1024}, &bytes)) return offset;
      value = bytes;
    }
    if (!value) return offset;
    numbers[index].value = value;
    --missing;
  }
  return std::nullopt;
}

}  // namespace memstat
