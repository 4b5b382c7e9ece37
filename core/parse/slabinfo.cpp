// SPDX-License-Identifier: BSD-2-Clause
#include "core/parse/slabinfo.h"

#include "core/base/text.h"

namespace memstat {
namespace {

/// Takes the last word off `text`; false when it has none or it is the first.
bool take_last_word(std::string_view& text, std::string_view& word) {
  const std::size_t last = text.find_last_not_of(' ');
  if (last == std::string_view::npos) return false;
  const std::size_t blank = text.find_last_of(' ', last);
  if (blank == std::string_view::npos) return false;
  word = text.substr(blank + 1, last - blank);
  text = text.substr(0, blank);
  return true;
}

}  // namespace

SlabinfoReader::SlabinfoReader(std::string_view text) : rest_(text) {
  std::string_view line;
  next_line(rest_, line);  // the version; its errors belong to the source of this file
  next_line(rest_, line);
  std::string_view word;
  for (int skipped = 0; skipped < 2; ++skipped) next_word(line, word);  // "#" and "name"
  while (next_word(line, word) && word != ":") {
    ++columns_;
    if (word == "<num_objs>") slots_ = columns_;
    if (word == "<objsize>") slot_size_ = columns_;
  }
  while (next_word(line, word)) {
    if (word == "<num_slabs>") slabs_from_end_ = 1;
    if (slabs_from_end_ != 0 && word != "<num_slabs>") ++slabs_from_end_;
  }
}

bool SlabinfoReader::next(SlabinfoLine& line) {
  std::string_view text;
  while (next_line(rest_, text)) {
    if (take_line(text, line)) return true;
  }
  return false;
}

// Names may have blanks: the numbers are the last words before the colon.
bool SlabinfoReader::take_line(std::string_view text, SlabinfoLine& line) const {
  line = {};
  std::size_t colon = text.find(" : tunables ");
  if (colon == std::string_view::npos) colon = text.find(" : ");
  if (colon == std::string_view::npos) return false;
  std::string_view before = text.substr(0, colon);
  std::string_view word;
  for (std::size_t column = columns_; column > 0; --column) {
    if (!take_last_word(before, word)) return false;
    if (column == slots_) line.slots = parse_u64(word);
    if (column == slot_size_) line.slot_size = parse_u64(word);
  }
  line.name = trim(before);
  std::string_view after = text.substr(colon);
  for (std::size_t i = slabs_from_end_; i > 0; --i) {
    if (!take_last_word(after, word)) return !line.name.empty();
  }
  if (slabs_from_end_ != 0) line.slabs = parse_u64(word);
  return !line.name.empty();
}

}  // namespace memstat
