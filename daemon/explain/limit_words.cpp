// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/explain/limit_words.h"

#include <algorithm>

#include "daemon/explain/known_types.h"
#include "daemon/explain/rows.h"

namespace memstat {

const LimitWord* limit_word(std::string_view os, std::string_view allocator, std::string_view type) {
  static const auto words = rows_of<LimitWord>(limit_words_text());
  const auto found = std::find_if(words.begin(), words.end(), [&](const LimitWord& word) {
    return word.os == os && word.allocator == allocator && matches_pattern(word.type, type);
  });
  return found == words.end() ? nullptr : &*found;
}

}  // namespace memstat
