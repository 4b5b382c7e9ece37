// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/output/report_table.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <iterator>
#include <numeric>
#include <system_error>

#include "core/base/amount_text.h"
#include "core/base/ascii.h"
#include "core/base/text.h"

namespace memstat::ctl {

namespace {

template <typename... Visitors>
struct Visitor : Visitors... {
  using Visitors::operator()...;
};
template <typename... Visitors>
Visitor(Visitors...) -> Visitor<Visitors...>;

bool is_known(const Cell& cell) { return !std::holds_alternative<std::monostate>(cell); }

std::string signed_amount(double value, bool is_bytes, bool is_human, bool has_sign) {
  const auto size = static_cast<std::uint64_t>(std::min(std::round(std::abs(value)), 9e18));
  const std::string digits = is_human && is_bytes ? humanize(size, Base::k1024, true) : std::to_string(size);
  return (size == 0 ? "" : value < 0 ? "-" : has_sign ? "+" : "") + digits;
}

/// The value for sorting a row; empty for text.
std::optional<double> number_in(const Cell& cell) {
  return std::visit(Visitor{[](std::monostate) { return std::optional<double>(); },
                            [](const std::string&) { return std::optional<double>(); },
                            [](const UnitAmount& amount) { return std::optional(amount.value); },
                            [](auto value) { return std::optional(static_cast<double>(value)); }},
                    cell);
}

std::string quoted_for_csv(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out.append(c == '"' ? 2 : 1, c);
  return out + '"';
}

/// In full precision; "" if unknown.
std::string exact_text(const Cell& cell, Unit unit) {
  return std::visit(
      Visitor{[](std::monostate) { return std::string(); }, [](const std::string& text) { return text; },
              [](const UnitAmount& amount) { return number_text(amount.value); },
              [](double value) { return number_text(value); },
              [unit](std::int64_t value) { return unit == Unit::kTime ? time_text(value, true) : std::to_string(value); },
              [](std::uint64_t value) { return std::to_string(value); },
              [](bool value) { return std::string(value ? "true" : "false"); }},
      cell);
}

void write_json(JsonWriter& json, std::string_view key, const Cell& cell, Unit unit) {
  std::visit(Visitor{[](std::monostate) {}, [&](const UnitAmount& amount) { json.field(key, amount.value); },
                     [&](std::int64_t value) {
                       if (unit == Unit::kTime) {
                         json.field(key, time_text(value, true));
                       } else {
                         json.field(key, value);
                       }
                     },
                     [&](const auto& value) { json.field(key, value); }},
             cell);
}

void write_row(JsonWriter& json, std::span<const ReportColumn> columns, const std::vector<Cell>& row) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (!columns[i].key.empty()) write_json(json, columns[i].key, row[i], columns[i].unit);
  }
}

/// `text_of`: the text for the column of this number.
template <typename TextOf>
std::string csv_line(std::span<const ReportColumn> columns, TextOf text_of) {
  std::string line;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (!columns[i].key.empty()) line += "," + quoted_for_csv(text_of(i));
  }
  return line.substr(1) + '\n';
}

std::vector<std::string> column_titles(std::span<const ReportColumn> columns) {
  std::vector<std::string> titles;
  for (const ReportColumn& column : columns) titles.emplace_back(column.title);
  return titles;
}

std::vector<std::string> cell_texts(std::span<const ReportColumn> columns, const std::vector<Cell>& row, bool is_human) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < columns.size(); ++i) texts.push_back(text_of(row[i], columns[i], is_human));
  return texts;
}

/// Column widths of a text: as wide as the cells, narrowed for a terminal.
class TextLayout {
 public:
  TextLayout(std::span<const ReportColumn> columns, const std::vector<std::vector<std::string>>& lines) : columns_(columns) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (columns[i].title.empty()) continue;
      shown_.push_back(i);
      widths_.resize(columns.size());
      for (const auto& line : lines) widths_[i] = std::max(widths_[i], width_of(line[i]));
    }
  }

  void fit(std::size_t width, const std::vector<std::vector<std::string>>& lines) {
    const auto is_empty = [&](std::size_t column) {
      return std::all_of(lines.begin() + 1, lines.end(), [&](const auto& line) { return line[column] == "-"; });
    };
    if (needed() > width && lines.size() > 1) {
      std::erase_if(shown_, [&](std::size_t column) { return columns_[column].rank != 0 && is_empty(column); });
    }
    // A column is more useful than the end of a long name, but less than its beginning.
    while (least_needed(2) > width) {
      const auto last = std::max_element(shown_.begin(), shown_.end(),
                                         [&](std::size_t a, std::size_t b) { return columns_[a].rank < columns_[b].rank; });
      if (last == shown_.end() || columns_[*last].rank == 0) break;
      shown_.erase(last);
    }
    while (needed() > width) {
      const auto longest =
          std::max_element(shown_.begin(), shown_.end(), [&](std::size_t a, std::size_t b) { return spare(a) < spare(b); });
      if (longest == shown_.end() || spare(*longest) == 0) break;
      widths_[*longest] -= std::min(spare(*longest), needed() - width);
    }
  }

  [[nodiscard]] std::string line(const std::vector<std::string>& cells) const {
    std::string text;
    for (const std::size_t column : shown_) {
      const bool is_left = columns_[column].unit == Unit::kText;
      if (!text.empty() || column != shown_.front()) text += "  ";
      text += is_left ? to_left(shortened(cells[column], widths_[column]), widths_[column])
                      : to_right(cells[column], widths_[column]);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text + '\n';
  }

 private:
  [[nodiscard]] std::size_t spare(std::size_t column) const {
    const std::size_t least = columns_[column].least;
    return least == 0 || widths_[column] <= least ? 0 : widths_[column] - least;
  }
  [[nodiscard]] std::size_t needed() const {
    return std::accumulate(shown_.begin(), shown_.end(), 2 * (shown_.size() - 1),
                           [&](std::size_t sum, std::size_t column) { return sum + widths_[column]; });
  }
  /// The minimum width if names get this many times their minimum.
  [[nodiscard]] std::size_t least_needed(std::size_t times) const {
    std::size_t sum = needed();
    for (const std::size_t column : shown_) {
      const std::size_t least = times * columns_[column].least;
      if (least != 0 && widths_[column] > least) sum -= widths_[column] - least;
    }
    return sum;
  }

  std::span<const ReportColumn> columns_;
  std::vector<std::size_t> shown_;
  std::vector<std::size_t> widths_;
};

}  // namespace

std::string number_text(double value) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

std::string utc_text(std::int64_t realtime_ns, const char* format) {
  const auto seconds = static_cast<std::time_t>(realtime_ns / 1'000'000'000);
  std::tm parts{};
  std::array<char, 64> text{};
  if (::gmtime_r(&seconds, &parts) == nullptr) return "-";
  return {text.data(), std::strftime(text.data(), text.size(), format, &parts)};
}

std::string text_of(const Cell& cell, const ReportColumn& column, bool is_human) {
  if (const auto* const text = std::get_if<std::string>(&cell)) return printable(*text);
  if (const auto* const amount = std::get_if<UnitAmount>(&cell)) {
    return signed_amount(amount->value, amount->is_bytes, is_human, column.has_sign);
  }
  const std::optional<double> number = number_in(cell);
  if (!number) return "-";
  switch (column.unit) {
    case Unit::kRatio: return percent_cell(*number);
    case Unit::kSeconds: return is_human ? duration_cell(*number) : signed_amount(*number, false, false, false);
    case Unit::kTime: return time_text(std::get<std::int64_t>(cell), column.width == 0);
    case Unit::kNumber:
    case Unit::kText:
    case Unit::kBytes: break;
  }
  if (const auto* const whole = std::get_if<std::uint64_t>(&cell); whole != nullptr && column.unit != Unit::kBytes) {
    return std::to_string(*whole);
  }
  return signed_amount(*number, column.unit == Unit::kBytes, is_human, column.has_sign);
}

std::optional<std::size_t> ReportTable::find_column(std::string_view word) const {
  const std::string wanted = lower_case(word);
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].key == wanted || lower_case(columns_[i].title) == wanted) return i;
    if (!found && columns_[i].key.starts_with(wanted + "_")) found = i;
  }
  return found;
}

std::string ReportTable::unknown_column(std::string_view word) const {
  std::vector<std::string> keys;
  for (const ReportColumn& column : columns_) {
    if (!column.key.empty()) keys.emplace_back(column.key);
  }
  return "--sort: this report has no column \"" + printable_bytes(word) + "\"" +
         did_you_mean(word, keys, "Columns: " + separated(keys, ", "));
}

bool ReportTable::is_wanted(const std::vector<Cell>& row, const ReportView& view) const {
  const auto name = [&](std::size_t i) -> std::string_view {
    const auto* const text = std::get_if<std::string>(&row[i]);
    return text == nullptr ? std::string_view() : *text;
  };
  if (view.allocator && columns_[0].key == "allocator" && !view.allocator->matches(name(0))) return false;
  if (view.patterns.empty()) return true;
  std::string joined;
  for (std::size_t i = 0; i < names_; ++i) joined += (i == 0 ? "" : "/") + std::string(name(i));
  return matches_any(view.patterns, name(names_ - 1)) || matches_any(view.patterns, joined);
}

std::string ReportTable::nothing_matches(const ReportView& view) const {
  std::vector<std::string> known;
  for (const std::vector<Cell>& row : rows_) known.push_back(exact_text(row[names_ - 1], Unit::kText));
  std::string text = "nothing here matches";
  std::string hint;
  for (const NamePattern& pattern : view.patterns) {
    constexpr std::string_view kBefore = ".*(";
    const std::string word = pattern.text().substr(kBefore.size(), pattern.text().size() - 2 * kBefore.size());
    text += (&pattern == view.patterns.data() ? " \"" : " or \"") + printable_bytes(word) + "\"";
    if (hint.empty()) hint = did_you_mean(word, known);
  }
  if (view.allocator)
    text += std::string(view.patterns.empty() ? "" : " in") + " allocator \"" + view.allocator->text() + "\"";
  return text + hint;
}

std::string ReportTable::select(const ReportView& view) {
  std::optional<std::size_t> sort;
  if (!view.sort.empty()) {
    sort = find_column(view.sort);
    if (!sort) return unknown_column(view.sort);
  }
  const bool is_filtered = !view.patterns.empty() || view.allocator;
  if (is_filtered && std::none_of(rows_.begin(), rows_.end(), [&](const auto& row) { return is_wanted(row, view); })) {
    return nothing_matches(view);
  }
  std::erase_if(rows_, [&](const std::vector<Cell>& row) { return !is_wanted(row, view); });
  if (sort) {
    std::stable_sort(rows_.begin(), rows_.end(), [&](const std::vector<Cell>& a, const std::vector<Cell>& b) {
      const Cell& left = a[*sort];
      const Cell& right = b[*sort];
      if (!is_known(left) || !is_known(right)) return is_known(left) && !is_known(right);
      const auto* const text = std::get_if<std::string>(&left);
      const auto* const other = std::get_if<std::string>(&right);
      if (text != nullptr && other != nullptr) return view.is_reversed ? *other < *text : *text < *other;
      const double more = number_in(left).value_or(0);
      const double less = number_in(right).value_or(0);
      return view.is_reversed ? more < less : more > less;
    });
  } else if (view.is_reversed) {
    std::reverse(rows_.begin(), rows_.end());
  }
  if (view.limit != 0 && rows_.size() > view.limit) rows_.resize(view.limit);
  return {};
}

std::string ReportTable::print(const ReportView& view) const {
  if (view.layout == Layout::kText) return text(view);
  if (view.layout == Layout::kJson) return json(view.is_compact);
  std::string lines = csv_header();
  for (const std::vector<Cell>& row : rows_) lines += csv_row(row);
  return lines;
}

std::string ReportTable::text(const ReportView& view) const {
  std::vector<std::vector<std::string>> lines{column_titles(columns_)};
  for (const std::vector<Cell>& row : rows_) lines.push_back(cell_texts(columns_, row, view.is_human));
  TextLayout layout(columns_, lines);
  if (view.width != 0) layout.fit(view.width, lines);
  std::string text;
  for (const std::vector<std::string>& line : lines) text += layout.line(line);
  return text;
}

std::string ReportTable::csv_header() const {
  return csv_line(columns_, [&](std::size_t i) { return std::string(columns_[i].key); });
}

std::string ReportTable::csv_row(const std::vector<Cell>& row) const {
  return csv_line(columns_, [&](std::size_t i) { return exact_text(row[i], columns_[i].unit); });
}

std::string ReportTable::json(bool is_compact) const {
  JsonWriter json("1", is_compact);
  for (const auto& [key, value] : head_) write_json(json, key, value, Unit::kText);
  write_list(json);
  return json.finish();
}

void ReportTable::write_list(JsonWriter& json) const {
  json.open_list(name_);
  for (const std::vector<Cell>& row : rows_) {
    json.open_object();
    write_row(json, columns_, row);
    json.close();
  }
  json.close();
}

std::string ReportTable::streamed(const std::vector<std::string>& cells) const {
  std::string line;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const ReportColumn& column = columns_[i];
    if (column.title.empty()) continue;
    if (!line.empty()) line += "  ";
    line += column.unit == Unit::kText ? to_left(cells[i], column.width) : to_right(cells[i], column.width);
  }
  return line + '\n';
}

std::string ReportTable::header(const ReportView& view) const {
  if (view.layout == Layout::kJson) return {};
  if (view.layout == Layout::kCsv) return csv_header();
  return streamed(column_titles(columns_));
}

std::string ReportTable::last_row(const ReportView& view) const {
  const std::vector<Cell>& row = rows_.back();
  if (view.layout == Layout::kCsv) return csv_row(row);
  if (view.layout == Layout::kJson) {
    JsonWriter json("1", view.is_compact);
    for (const auto& [key, value] : head_) write_json(json, key, value, Unit::kText);
    write_row(json, columns_, row);
    return json.finish();
  }
  return streamed(cell_texts(columns_, row, view.is_human));
}

Report report_of(ReportTable table, const ReportView& view) {
  const bool is_usable = table.has_column(view.sort);
  if (std::string problem = table.select(view); !problem.empty())
    return {.problem = std::move(problem), .status = is_usable ? kExitDone : kExitUsage};
  return {.output = table.print(view)};
}

int print(std::string_view text) {
  errno = 0;
  const bool is_written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (is_written && std::fflush(stdout) == 0) return kExitDone;  // a full disk is only noticed when the buffer is flushed
  if (errno == EPIPE) return kExitFailed;                        // the reader has enough: `memstatctl zones | head -1`
  std::fprintf(stderr, "memstatctl: cannot write to standard output: %s\n", std::generic_category().message(errno).c_str());
  return kExitFailed;
}

}  // namespace memstat::ctl
