// SPDX-License-Identifier: BSD-2-Clause
#include "core/parse/statm.h"

#include <array>
#include <cstddef>

#include "core/base/text.h"

namespace memstat {

std::optional<ProcessMemory> parse_statm(std::string_view text, std::uint64_t page_size) {
  enum Column : std::size_t { kSize, kResident, kShared, kText, kLibraries, kData, kColumns };
  std::array<std::uint64_t, kColumns> columns{};
  std::string_view rest = text.substr(0, text.find('\n'));
  for (std::uint64_t& column : columns) {
    std::string_view word;
    if (!next_word(rest, word)) return {};
    const auto pages = parse_u64(word);
    if (!pages || __builtin_mul_overflow(*pages, page_size, &column)) return {};
  }
  return ProcessMemory{.size = columns[kSize],
                       .resident = columns[kResident],
                       .shared = columns[kShared],
                       .text = columns[kText],
                       .data = columns[kData]};
}

}  // namespace memstat
