// SPDX-License-Identifier: BSD-2-Clause
#include "core/parse/key_values.h"

#include "core/base/text.h"

namespace memstat {

std::optional<std::size_t> read_keyed_numbers(std::string_view text, std::span<KeyedNumber> numbers) {
  for (KeyedNumber& number : numbers) number.value.reset();
  std::string_view rest = text;
  std::string_view line;
  std::size_t expected = 0;  // index after the number found last
  std::size_t missing = numbers.size();
  while (missing > 0) {
    const std::size_t offset = text.size() - rest.size();
    if (!next_line(rest, line)) break;
    std::string_view key;
    if (!next_word(line, key)) continue;
    if (key.ends_with(':')) key.remove_suffix(1);
    for (std::size_t tried = 0; tried < numbers.size(); ++tried) {
      const std::size_t place = expected + tried;
      const std::size_t index = place < numbers.size() ? place : place - numbers.size();
      if (numbers[index].key != key) continue;
      expected = index + 1;
      if (numbers[index].value) break;
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
      break;
    }
  }
  return std::nullopt;
}

}  // namespace memstat
