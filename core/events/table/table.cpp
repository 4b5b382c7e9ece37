// SPDX-License-Identifier: BSD-2-Clause
#include "core/events/table/table.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "core/base/ascii.h"
#include "core/base/error.h"
#include "core/base/text.h"
#include "core/events/table/event_metrics.h"

namespace memstat::events {
namespace {

using namespace std::string_view_literals;

/// Packed rows begin with a NUL, which text never does.
constexpr std::string_view kPackedMark = "\0"sv;
constexpr std::size_t kHeadBytes = 3;  // kind, number of numbers, number of names
constexpr std::size_t kLengthBytes = sizeof(std::uint16_t);

std::size_t kind_of(const TableFormat& format, std::string_view word, std::size_t guess) {
  for (std::size_t tried = 0; tried < format.rows.size(); ++tried) {
    const std::size_t kind = (guess + tried) % format.rows.size();
    if (format.rows[kind].word == word) return kind;
  }
  return format.rows.size();
}

void append_row(const RowFormat& format, const TableRow& row, Buffer& text) {
  text.append(format.word);
  std::size_t numbers = 0;
  std::size_t names = 0;
  for (const char field : format.fields) {
    if (field == '?') {
      if (numbers == row.number_count && names == row.name_count) break;
      continue;
    }
    if (field == 'n' || field == '*') {
      do {
        text.append(" ");
        text.append(NumberDigits(row.number[numbers++]).view());
      } while (field == '*' && numbers < row.number_count);
      continue;
    }
    text.append(field == 'T' ? "\t" : " ");
    text.append(row.name[names++]);
  }
  text.append("\n");
}

bool take_number(std::string_view& line, TableRow& row) {
  std::string_view word;
  if (row.number_count == TableRow::kMaxNumbers || !next_word(line, word)) return false;
  const auto value = parse_u64(word);
  row.number[row.number_count++] = value.value_or(0);
  return value.has_value();
}

/// Takes a name off the line. A field of kind t is the rest of the line, and may contain blanks.
bool take_name(char field, std::string_view& line, TableRow& row) {
  if (row.name_count == TableRow::kMaxNames) return false;
  std::string_view& name = row.name[row.name_count++];
  if (field == 'w') return next_word(line, name) && is_valid_label_text(name);
  if (line.size() < 2 || (field == 'T' && line.front() != '\t')) return false;
  name = line.substr(1);
  if (field == 'T') name = name.substr(0, name.find('\t'));
  line.remove_prefix(1 + name.size());
  return !name.empty();
}

}  // namespace

TableWriter::TableWriter(const TableFormat& format, Buffer& out) : format_(format), out_(out) { out.assign(kPackedMark); }

void TableWriter::add(std::string_view word, std::span<const std::uint64_t> numbers,
                      std::initializer_list<std::string_view> names) {
  kind_ = kind_of(format_, word, kind_);
  const char head[kHeadBytes] = {static_cast<char>(kind_), static_cast<char>(numbers.size()),
                                 static_cast<char>(names.size())};
  out_.append({head, sizeof head});
  const std::size_t at = out_.size();
  out_.append({reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()});
  for (std::string_view name : names) {
    const auto length = static_cast<std::uint16_t>(std::min<std::size_t>(name.size(), 0xFFFF));
    out_.append({reinterpret_cast<const char*>(&length), sizeof length});
    out_.append(name.substr(0, length));
  }
  char* const begin = out_.data() + at + numbers.size_bytes();
  for (char* name = begin; name != out_.data() + out_.size();) {
    std::uint16_t length = 0;
    std::memcpy(&length, name, sizeof length);
    name += sizeof length;
    std::replace(name, name + length, '\n', '?');
    name += length;
  }
}

TableReader::TableReader(const TableFormat& format, std::string_view bytes)
    : format_(format), bytes_(bytes), rest_(bytes), is_packed_(bytes.starts_with(kPackedMark)) {}

Result<void> TableReader::wrong(std::size_t offset, std::string_view is) const {
  return data_error(format_.source, offset, std::string(is));
}

Result<void> TableReader::take_head(std::initializer_list<Figure> figures) {
  std::string_view line;
  if (is_packed_) {
    rest_.remove_prefix(kPackedMark.size());
  } else if (!next_line(rest_, line) || line != format_.version) {
    return data_error(format_.source, 0, "does not start with '" + std::string(format_.version) + "'", ErrorCode::kVersion);
  }
  for (const auto& [word, number] : figures) {
    const std::size_t begin = offset();
    const auto more = next();
    if (!more || !*more || row_.word != word || row_.number_count != 1 || row_.name_count != 0) {
      return wrong(begin, "expected '" + std::string(word) + "' and a number");
    }
    *number = row_.number[0];
  }
  return {};
}

Result<bool> TableReader::next() {
  const std::size_t begin = offset();
  if (is_packed_) {
    if (rest_.empty()) return false;
    return unpack() ? Result<bool>(true) : Result<bool>(wrong(begin, "has a packed row that is cut short").error());
  }
  std::string_view line;
  if (!next_line(rest_, line)) return wrong(begin, "ends without the line 'end'").error();
  if (line != "end") return parse(line) ? Result<bool>(true) : Result<bool>(wrong(begin, format_.mismatch).error());
  if (rest_.empty()) return false;
  return wrong(offset(), "continues after the line 'end'").error();
}

bool TableReader::unpack() {
  if (rest_.size() < kHeadBytes) return false;
  kind_ = static_cast<unsigned char>(rest_[0]);
  row_.number_count = static_cast<unsigned char>(rest_[1]);
  row_.name_count = static_cast<unsigned char>(rest_[2]);
  rest_.remove_prefix(kHeadBytes);
  const std::size_t size = row_.number_count * sizeof(std::uint64_t);
  if (kind_ >= format_.rows.size() || row_.number_count > TableRow::kMaxNumbers || row_.name_count > TableRow::kMaxNames ||
      rest_.size() < size) {
    return false;
  }
  row_.word = format_.rows[kind_].word;
  std::memcpy(row_.number.data(), rest_.data(), size);
  rest_.remove_prefix(size);
  for (std::size_t i = 0; i < row_.name_count; ++i) {
    std::uint16_t length = 0;
    if (rest_.size() < kLengthBytes) return false;
    std::memcpy(&length, rest_.data(), kLengthBytes);
    rest_.remove_prefix(kLengthBytes);
    if (rest_.size() < length) return false;
    row_.name[i] = rest_.substr(0, length);
    rest_.remove_prefix(length);
  }
  return true;
}

bool TableReader::parse(std::string_view line) {
  row_.number_count = row_.name_count = 0;
  if (!next_word(line, row_.word)) return false;
  kind_ = kind_of(format_, row_.word, kind_);
  if (kind_ == format_.rows.size()) {
    kind_ = 0;
    return false;
  }
  for (const char field : format_.rows[kind_].fields) {
    if (field == '?' && line.empty()) return true;
    if (field == '?') continue;
    if (field == 'n' || field == '*') {
      do {
        if (!take_number(line, row_)) return false;
      } while (field == '*' && !line.empty());
    } else if (!take_name(field, line, row_)) {
      return false;
    }
  }
  return line.empty();
}

void write_table_text(const TableFormat& format, std::string_view rows, Buffer& text) {
  if (!rows.starts_with(kPackedMark)) return text.assign(rows);
  text.assign(format.version);
  text.append("\n");
  TableReader reader(format, rows);
  std::size_t kind = 0;
  static_cast<void>(reader.take_head());
  static_cast<void>(reader.take_rest([&](const TableRow& row) {
    kind = kind_of(format, row.word, kind);
    append_row(format.rows[kind], row, text);
    return true;
  }));
  text.append("end\n");
}

std::string_view kernel_name(const char* name, std::size_t size) {
  return {name, static_cast<std::size_t>(std::find(name, name + size, '\0') - name)};
}

void add_sizes(TableWriter& rows, std::string_view allocator, std::uint64_t bytes, SizeCounts counts) {
  std::array<std::uint64_t, 1 + MEMSTAT_SIZES> numbers{bytes};
  std::copy(counts.begin(), counts.end(), numbers.begin() + 1);
  rows.add(kSizesRow.word, numbers, {allocator});
}

void add_gfp_counts(const memstat_gfp_counts& counts, memstat_gfp_counts& sums) {
  for (std::size_t i = 0; i < MEMSTAT_GFP_CLASSES; ++i) {
    sums.allocations[i] += figure_now(counts.allocations[i]);
    sums.failures[i] += figure_now(counts.failures[i]);
  }
}

void add_gfp_rows(TableWriter& rows, std::string_view allocator, const memstat_gfp_counts& counts) {
  constexpr std::array<std::string_view, MEMSTAT_GFP_CLASSES> kWords{"dma",  "atomic", "nowait", "other",
                                                                     "noio", "nofs",   "user",   "kernel"};
  for (std::size_t i = 0; i < MEMSTAT_GFP_CLASSES; ++i) {
    rows.add(kGfpRow.word, {counts.allocations[i], counts.failures[i]}, {allocator, kWords[i]});
  }
}

bool take_event(const TableRow& row, Staging& staging) {
  staging.statistics().merge(kVmEvents, row.number[0], {row.name[0]});
  if (row.number_count == 2) staging.statistics().merge(kVmEventBytes, row.number[1], {row.name[0]});
  return true;
}

bool take_sizes(const TableRow& row, Staging& staging) {
  const std::string_view allocator = row.name[0];
  if (row.number_count != 2 + kSizeBounds.size() || staging.statistics().has(kAllocationSizes, allocator)) return false;
  staging.statistics().add_histogram(
      kAllocationSizes, {.counts = row.numbers().subspan(1), .sum = static_cast<double>(row.number[0])}, {allocator});
  return true;
}

bool GfpRows::take(const TableRow& row, Staging& staging) {
  const auto& [allocator, word, none, nothing] = row.name;
  const auto known = std::span(classes_).first(count_);
  if (count_ == kMaxClasses || std::find(known.begin(), known.end(), word) != known.end()) return false;
  classes_[count_++] = word;
  staging.statistics().add(kGfpAllocations, row.number[0], {allocator, word});
  staging.statistics().add(kGfpFailures, row.number[1], {allocator, word});
  return true;
}

bool GovernorRow::take(const TableRow& row, std::string_view source, Staging& staging) {
  const auto attached = row.number[0];
  const auto weight = row.number[1];
  const std::string_view again = row.name_count == 1 ? row.name[0] : std::string_view();
  if (row.name_count == 1 && (attached != 0 || (again != "later" && again != "lost"))) return false;
  if (attached > 1 || weight == 0) return false;
  is_detached_ = attached == 0;
  StagedStatistics& statistics = staging.statistics();
  statistics.add_double(kEventsCost, static_cast<double>(row.number[2]) / 1e9, {source});
  statistics.add_double(kEventsSampled, static_cast<double>(row.number[3]) / 1e9, {source});
  statistics.add_double(kEventsCounted, is_detached_ ? 0 : 1 / static_cast<double>(weight), {source});
  statistics.add_double(kEventsBudget, static_cast<double>(row.number[4]) / 1e6, {source});
  if (is_detached_) {
    staging.add_note(
        std::string("frequent events: counting them took more than events.budget, so memstatd detached from them") +
        (again == "later"  ? ", and tries again: a minute later at first, an hour later at most"
         : again == "lost" ? "; the helper process, which would attach to them again, is gone: restart memstatd "
                             "to count events again"
                           : " and stays so until it is restarted"));
  } else if (weight > 1) {
    staging.add_note(
        "exact counts: counting takes more than events.budget, so events are sampled and their counts are estimates");
  }
  return true;
}

}  // namespace memstat::events
