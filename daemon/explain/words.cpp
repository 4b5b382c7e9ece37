// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/explain/words.h"

#include "daemon/explain/rows.h"

namespace memstat {

std::span<const AllocatorWord> allocator_words() {
  static const auto words = rows_of<AllocatorWord>(allocator_words_text());
  return words;
}

std::span<const ColumnWord> column_words() {
  static const auto words = rows_of<ColumnWord>(column_words_text());
  return words;
}

}  // namespace memstat
