// SPDX-License-Identifier: BSD-2-Clause
// Terms in reports that are not metrics: allocators and columns.
#pragma once

#include <span>
#include <string_view>

namespace memstat {

/// Describes an allocator's types. Static.
struct AllocatorWord {
  std::string_view name;
  std::string_view what;
};
std::span<const AllocatorWord> allocator_words();
std::string_view allocator_words_text();  ///< allocator_words.txt, embedded.

/// A column of memstatctl. Static.
struct ColumnWord {
  std::string_view title;  ///< In text, "USED"; "" for none.
  std::string_view key;    ///< In JSON and CSV, "limit_used_ratio"; "" for none.
  std::string_view what;
  std::string_view metric;  ///< The metric with the same figure; "" for none.
};
std::span<const ColumnWord> column_words();
std::string_view column_words_text();  ///< column_words.txt, embedded.

}  // namespace memstat
