// SPDX-License-Identifier: BSD-2-Clause
// The one table that reports are: columns, rows, and the same rows as text for people, JSON and comma-separated values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "config/name_pattern.h"
#include "daemon/ctl/output/cells.h"
#include "daemon/ctl/output/json_writer.h"
#include "daemon/ctl/output/output.h"

namespace memstat::ctl {

/// What the values of a column are, which decides how people see them. kRatio: 1 is 100 %. kTime: nanoseconds since 1970.
enum class Unit : std::uint8_t { kText, kNumber, kBytes, kRatio, kSeconds, kTime };

/// A column. Static.
struct ReportColumn {
  std::string_view key;    ///< In JSON, CSV and --sort, with the unit: "held_bytes". "": in text only.
  std::string_view title;  ///< In text. "": in JSON and CSV only.
  Unit unit = Unit::kText;
  int rank = 0;           ///< 0: always in text; where the terminal is narrow, the highest rank goes first.
  bool has_sign = false;  ///< Of changes: what is more than 0 has a plus.
  std::size_t width = 0;  ///< Columns of the terminal at least, for rows that are printed one by one.
  std::size_t least = 0;  ///< Of kText: to how many columns it is shortened at most; 0: not at all.
};

/// An amount whose unit differs from row to row.
struct UnitAmount {
  double value = 0;
  bool is_bytes = false;
  bool operator==(const UnitAmount&) const = default;
};

/// A value; std::monostate for one that is not known.
using Cell = std::variant<std::monostate, std::string, std::uint64_t, std::int64_t, double, UnitAmount, bool>;

template <typename T>
Cell cell_of(const std::optional<T>& value) {
  return value ? Cell(*value) : Cell();
}
inline Cell cell_of_text(std::string text) { return text.empty() ? Cell() : Cell(std::move(text)); }

/// What a user wants of a report. Thread safety: a plain value.
struct ReportView {
  Layout layout = Layout::kText;
  bool is_compact = false;                 ///< JSON on one line.
  bool is_human = true;                    ///< Text has 2.3M in place of 2411724.
  std::vector<NamePattern> patterns = {};  ///< Rows of which a name matches any; empty: all.
  std::optional<NamePattern> allocator = {};
  std::string sort = {};  ///< A column by its key or title; "": the report's own order.
  bool is_reversed = false;
  std::size_t limit = 0;                 ///< Rows at most; 0: all.
  std::size_t width = terminal_width();  ///< Columns of the terminal; 0: text is as wide as it needs.
};

/// Rows in the report's own order. Thread safety: a plain value.
class ReportTable {
 public:
  /// `name`: of the list in JSON. `names`: how many of the first columns a pattern is matched with, each by itself and all
  /// joined by slashes. The columns are static.
  ReportTable(std::string_view name, std::span<const ReportColumn> columns, std::size_t names = 1)
      : name_(name), columns_(columns), names_(names) {}

  /// Of JSON, before the list: what is true of all rows.
  void add_head(std::string_view key, Cell value) { head_.emplace_back(key, std::move(value)); }
  /// As many cells as columns.
  void add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  [[nodiscard]] std::size_t size() const { return rows_.size(); }
  [[nodiscard]] const std::vector<std::vector<Cell>>& rows() const { return rows_; }

  /// Leaves the rows that the view wants, in its order. "" or what is wrong with the view, or that nothing matches.
  std::string select(const ReportView& view);

  /// All rows in the layout of the view.
  [[nodiscard]] std::string print(const ReportView& view) const;

  /// The rows as a list of a document that has more.
  void write_list(JsonWriter& json) const;

  /// For reports that print a row at a time: the header, and the last row. JSON has an object a row and no header.
  [[nodiscard]] std::string header(const ReportView& view) const;
  [[nodiscard]] std::string last_row(const ReportView& view) const;

 private:
  [[nodiscard]] std::optional<std::size_t> find_column(std::string_view word) const;
  [[nodiscard]] std::string unknown_column(std::string_view word) const;
  [[nodiscard]] bool is_wanted(const std::vector<Cell>& row, const ReportView& view) const;
  [[nodiscard]] std::string nothing_matches(const ReportView& view) const;
  [[nodiscard]] std::string text(const ReportView& view) const;
  [[nodiscard]] std::string csv_line(const std::vector<Cell>& row) const;
  [[nodiscard]] std::string csv_header() const;
  [[nodiscard]] std::string json() const;
  [[nodiscard]] std::string streamed(const std::vector<std::string>& cells) const;

  std::string_view name_;
  std::span<const ReportColumn> columns_;
  std::size_t names_;
  std::vector<std::pair<std::string, Cell>> head_;
  std::vector<std::vector<Cell>> rows_;
};

/// The cell for people: "-" for one that is not known.
std::string text_of(const Cell& cell, const ReportColumn& column, bool is_human);

/// The shortest digits that give the number back.
std::string number_text(double value);

/// 0.5 is "50%", 0.003 "0.3%".
std::string percent(double part);

/// "5d 3h", "2h 10m", "40s": the two largest units.
std::string duration_text(double seconds);

/// "15:04:05" or "2026-11-22T15:04:05Z", in UTC.
std::string time_text(std::int64_t realtime_ns, bool with_date);

/// JSON that finish() of a JsonWriter with a version gave, in the layout of the view.
std::string laid_out(std::string pretty, const ReportView& view);

/// The table as the view wants it, or why there is none.
Report report_of(ReportTable table, const ReportView& view);

}  // namespace memstat::ctl
