// SPDX-License-Identifier: BSD-2-Clause
#include "core/events/table/table_text.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace memstat::events {

namespace {

constexpr std::size_t kMostDigits = 20;

/// Room for `size` more bytes, from where it ends.
char* room_for(Buffer& out, std::size_t size) {
  if (out.capacity() - out.size() < size) out.reserve((out.size() + size) * 2);
  return out.data() + out.size();
}

void end_at(Buffer& out, const char* end) { out.resize(static_cast<std::size_t>(end - out.data())); }

/// Gives the end of the number. Most of a table are of one digit.
char* write_number(char* to, std::uint64_t number) {
  if (number >= 10) return std::to_chars(to, to + kMostDigits, number).ptr;
  *to = static_cast<char>('0' + number);
  return to + 1;
}

char* write_numbers(char* to, std::span<const std::uint64_t> numbers) {
  for (const std::uint64_t number : numbers) {
    *to = ' ';
    to = write_number(to + 1, number);
  }
  return to;
}

}  // namespace

void append_number(Buffer& out, std::uint64_t number) { end_at(out, write_number(room_for(out, kMostDigits), number)); }

void append_numbers(Buffer& out, std::span<const std::uint64_t> numbers) {
  end_at(out, write_numbers(room_for(out, numbers.size() * (1 + kMostDigits)), numbers));
}

void append_row(Buffer& out, std::string_view word, std::initializer_list<std::uint64_t> numbers) {
  char* to = room_for(out, word.size() + numbers.size() * (1 + kMostDigits) + 1);
  to = std::copy(word.begin(), word.end(), to);
  to = write_numbers(to, {numbers.begin(), numbers.size()});
  *to = '\n';
  end_at(out, to + 1);
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
  char* const to = room_for(out, static_cast<std::size_t>(end - name));
  end_at(out, std::replace_copy(name, end, to, '\n', '?'));
}

}  // namespace memstat::events
