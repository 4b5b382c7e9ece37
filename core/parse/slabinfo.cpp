// SPDX-License-Identifier: BSD-2-Clause
#include "core/parse/slabinfo.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/parse/column_reader.h"

namespace memstat {
namespace {

// The kernel's column widths. Only a fast path relies on them; longer numbers shift the columns after them.
constexpr std::size_t kNameWidth = 17;
constexpr unsigned kObjectsWidth = 6;
constexpr std::size_t kWideColumns = 3;
constexpr unsigned kPerSlabWidth = 4;
constexpr unsigned kSlabsWidth = 6;

/// The word at `from_end` from the end of the line; 1 is the last. "" if there are fewer.
std::string_view word_from_end(std::string_view line, std::size_t from_end) {
  std::size_t end = line.size();
  while (true) {
    while (end > 0 && line[end - 1] == ' ') --end;
    std::size_t begin = end;
    while (begin > 0 && line[begin - 1] != ' ') --begin;
    if (begin == end || --from_end == 0) return line.substr(begin, end - begin);
    end = begin;
  }
}

}  // namespace

Result<SlabinfoColumns> SlabinfoColumns::read(std::string_view& rest, std::size_t size) {
  std::string_view line;
  if (!next_line(rest, line) || !line.starts_with("slabinfo - version: ")) {
    return data_error(kSlabinfoFile, 0, "does not start with 'slabinfo - version: '", ErrorCode::kVersion);
  }
  const std::size_t offset = size - rest.size();
  SlabinfoColumns columns;
  std::string_view word;
  if (!next_line(rest, line) || !next_word(line, word) || word != "#" || !next_word(line, word) || word != "name") {
    return data_error(kSlabinfoFile, offset, "the line of column names is missing");
  }
  while (next_word(line, word) && word != ":") {
    const std::size_t index = columns.first_group_++;
    if (word == "<active_objs>") columns.active_ = index;
    if (word == "<num_objs>") columns.slots_ = index;
    if (word == "<objsize>") columns.slot_size_ = index;
    if (word == "<pagesperslab>") columns.pages_per_slab_ = index;
  }
  std::size_t words = 0;
  while (next_word(line, word)) {
    ++words;
    if (word == "<num_slabs>") columns.slabs_from_end_ = words;
  }
  const std::size_t last = std::max({columns.active_, columns.slots_, columns.slot_size_, columns.pages_per_slab_});
  if (last >= columns.first_group_ || columns.first_group_ > kMaxColumns || columns.slabs_from_end_ == 0) {
    return data_error(kSlabinfoFile, offset,
                      "a column is missing: active_objs, num_objs, objsize, pagesperslab and num_slabs are needed");
  }
  columns.slabs_from_end_ = words - columns.slabs_from_end_ + 1;
  return columns;
}

// Names may contain blanks; then the numbers are the last words before the colon.
bool SlabinfoColumns::split(std::string_view line, std::string_view& name, std::uint64_t* numbers,
                            std::string_view& rest) const {
  const auto take_group = [&](const char* at, const char* end) {
    ColumnReader reader(line.data(), at, end);
    for (std::size_t i = 0; i < first_group_; ++i) {
      const bool taken =
          i < kWideColumns ? reader.take_column<kObjectsWidth>(numbers[i]) : reader.take_column<kPerSlabWidth>(numbers[i]);
      if (!taken) return false;
    }
    if (!reader.skip_to(':')) return false;
    rest = line.substr(static_cast<std::size_t>(reader.at() - line.data()));
    return true;
  };
  const std::size_t blank = line.find(' ');
  if (blank == 0 || blank == std::string_view::npos) return false;
  const char* end = line.data() + line.size();
  std::size_t first_column = blank;
  if (blank < kNameWidth && line.size() > kNameWidth) {
    static constexpr std::string_view kPadding = "                 ";
    static_assert(kPadding.size() == kNameWidth);
    const std::size_t padding = kNameWidth - blank;
    if (line.substr(blank, padding) == kPadding.substr(0, padding)) first_column = kNameWidth;
  }
  if (take_group(line.data() + first_column, end)) {
    name = line.substr(0, blank);
    return true;
  }
  std::size_t colon = line.find(" : tunables ");
  if (colon == std::string_view::npos) colon = line.find(" : ");
  if (colon == std::string_view::npos) return false;
  const std::string_view before = line.substr(0, colon);
  const std::string_view first = word_from_end(before, first_group_);
  if (first.empty() || first.data() == line.data()) return false;
  if (!take_group(first.data(), end)) return false;
  name = trim(line.substr(0, static_cast<std::size_t>(first.data() - line.data())));
  return !name.empty();
}

/// The number of slabs is near the end of the text after the first colon.
bool SlabinfoColumns::take_slabs(std::string_view rest, std::uint64_t& slabs) const {
  const char* end = rest.data() + rest.size();
  constexpr std::size_t kBothColumns = 2 * (kSlabsWidth + 1);
  // Without the blank this is the middle of a longer number.
  if (slabs_from_end_ == 2 && rest.size() > kBothColumns && end[-static_cast<std::ptrdiff_t>(kBothColumns)] == ' ') {
    ColumnReader reader(rest.data(), end - kBothColumns, end);
    std::uint64_t shared = 0;
    if (reader.take_column<kSlabsWidth>(slabs) && reader.at() == end - (kSlabsWidth + 1) &&
        reader.take_column<kSlabsWidth>(shared) && reader.at() == end) {
      return true;
    }
  }
  const std::string_view word = word_from_end(rest, slabs_from_end_);
  if (word.empty()) return false;
  ColumnReader reader(rest.data(), word.data(), end);
  return reader.take(slabs) && reader.at() == word.data() + word.size();
}

const char* SlabinfoColumns::read_line(std::string_view text, SlabinfoLine& line) const {
  std::uint64_t numbers[kMaxColumns];
  std::string_view rest;
  if (!split(text, line.name, numbers, rest)) {
    return "not a cache's line: expected a name, and before the colon as many numbers of at most 64 bits as the header "
           "names";
  }
  if (!take_slabs(rest, line.slabs)) return "the number of slabs is missing or not a number";
  line.active = numbers[active_];
  line.slots = numbers[slots_];
  line.slot_size = numbers[slot_size_];
  line.pages_per_slab = numbers[pages_per_slab_];
  return nullptr;
}

SlabinfoReader::SlabinfoReader(std::string_view text) : rest_(text) {
  const auto columns = SlabinfoColumns::read(rest_, text.size());
  if (columns) {
    columns_ = *columns;
  } else {
    rest_ = {};
  }
}

bool SlabinfoReader::next(SlabinfoLine& line) {
  std::string_view text;
  while (next_line(rest_, text)) {
    if (columns_.read_line(text, line) == nullptr) return true;
  }
  return false;
}

}  // namespace memstat
