// SPDX-License-Identifier: BSD-2-Clause
#include "core/events/table_text.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace memstat::events {

void append_number(Buffer& out, std::uint64_t number) {
  std::array<char, 20> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  out.append({digits.data(), static_cast<std::size_t>(end.ptr - digits.data())});
}

void append_numbers(Buffer& out, std::span<const std::uint64_t> numbers) {
  for (const std::uint64_t number : numbers) {
    out.append(" ");
    append_number(out, number);
  }
}

void append_row(Buffer& out, std::string_view word, std::initializer_list<std::uint64_t> numbers) {
  out.append(word);
  append_numbers(out, {numbers.begin(), numbers.size()});
  out.append("\n");
}

void append_line(Buffer& out, std::string_view word, std::uint64_t number) { append_row(out, word, {number}); }

void append_sizes(Buffer& out, std::string_view allocator, std::uint64_t bytes, SizeCounts counts) {
  out.append("sizes ");
  out.append(allocator);
  out.append(" ");
  append_number(out, bytes);
  append_numbers(out, counts);
  out.append("\n");
}

void add_gfp_counts(const memstat_gfp_counts& counts, memstat_gfp_counts& sums) {
  for (std::size_t i = 0; i < MEMSTAT_GFP_CLASSES; ++i) {
    sums.allocations[i] += figure_now(counts.allocations[i]);
    sums.failures[i] += figure_now(counts.failures[i]);
  }
}

void append_gfp_counts(Buffer& out, std::string_view allocator, const memstat_gfp_counts& counts) {
  constexpr std::array<std::string_view, MEMSTAT_GFP_CLASSES> kWords{"dma",  "atomic", "nowait", "other",
                                                                     "noio", "nofs",   "user",   "kernel"};
  for (std::size_t i = 0; i < MEMSTAT_GFP_CLASSES; ++i) {
    out.append("gfp ");
    out.append(allocator);
    out.append(" ");
    append_row(out, kWords[i], {counts.allocations[i], counts.failures[i]});
  }
}

void append_kernel_name(Buffer& out, const char* name, std::size_t size) {
  const char* const end = std::find(name, name + size, '\0');
  for (const char* at = name; at != end; ++at) {
    const char c = *at == '\n' ? '?' : *at;
    out.append({&c, 1});
  }
}

}  // namespace memstat::events
