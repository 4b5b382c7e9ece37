// SPDX-License-Identifier: BSD-2-Clause
// The output and exit status of memstatctl, and the table behind every report: columns and rows, printed as text, JSON or
// CSV.
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
#include "core/base/json_writer.h"
#include "daemon/ctl/output/cells.h"

namespace memstat::ctl {

inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitPartial = 3;
inline constexpr int kExitNotable = 10;  ///< For why: something is wasteful or notable.
inline constexpr int kExitUrgent = 11;   ///< For why: something fails now or soon.

/// The format of a report.
enum class Layout { kText, kJson, kCsv };

/// The result of a command.
struct Report {
  std::string output = {};                ///< For standard output.
  std::string problem = {};               ///< Why it failed; "": it did not.
  std::vector<std::string> notes = {};    ///< Damage in the source, for standard error; not a failure.
  std::vector<std::string> missing = {};  ///< Missing parts of the answer, for standard error: kExitPartial.
  /// Status after the report was written. Unless it is kExitDone, it takes precedence over kExitPartial. With a problem, the
  /// status is kExitUsage if this is kExitUsage, and otherwise kExitFailed.
  int status = kExitDone;
};

/// Writes the text to standard output. Returns kExitDone; or kExitFailed, after a message on standard error.
int print(std::string_view text);

/// The kind of a column's values, which determines their format. kRatio: 1 is 100 %. kTime: ns since 1970.
enum class Unit : std::uint8_t { kText, kNumber, kBytes, kRatio, kSeconds, kTime };

/// A column. Static.
struct ReportColumn {
  std::string_view key;    ///< In JSON, CSV and --sort, including the unit: "held_bytes". "": only in text.
  std::string_view title;  ///< In text. "": only in JSON and CSV.
  Unit unit = Unit::kText;
  int rank = 0;           ///< 0: always in text; on a narrow terminal the columns with the highest rank are dropped first.
  bool has_sign = false;  ///< For changes: positive values have a plus sign.
  std::size_t width = 0;  ///< Minimum width, for rows that are printed one at a time; their times have no date.
  std::size_t least = 0;  ///< For kText: minimum width when shortened; 0: never shortened.
};

/// An amount whose unit varies by row.
struct UnitAmount {
  double value = 0;
  bool is_bytes = false;
  bool operator==(const UnitAmount&) const = default;
};

/// A value; std::monostate if unknown.
using Cell = std::variant<std::monostate, std::string, std::uint64_t, std::int64_t, double, UnitAmount, bool>;

template <typename T>
Cell cell_of(const std::optional<T>& value) {
  return value ? Cell(*value) : Cell();
}
inline Cell cell_of_text(std::string text) { return text.empty() ? Cell() : Cell(std::move(text)); }

/// The user's choices for a report.
struct ReportView {
  Layout layout = Layout::kText;
  bool is_compact = false;                 ///< JSON on one line.
  bool is_human = true;                    ///< Text has 2.3M instead of 2411724.
  std::vector<NamePattern> patterns = {};  ///< Only rows with a matching name; empty: all.
  std::optional<NamePattern> allocator = {};
  std::string sort = {};  ///< Key or title of a column; "": the report's own order.
  bool is_reversed = false;
  std::size_t limit = 0;                 ///< Maximum number of rows; 0: all.
  std::size_t width = terminal_width();  ///< Width of the terminal; 0: text is as wide as necessary.
};

/// A table whose rows are in the report's own order.
class ReportTable {
 public:
  /// `name`: key of the list in JSON. `names`: number of leading columns that patterns are matched with, each alone and
  /// all joined by slashes. The columns must be static.
  ReportTable(std::string_view name, std::span<const ReportColumn> columns, std::size_t names = 1)
      : name_(name), columns_(columns), names_(names) {}

  /// Adds a value for all rows, before the list in JSON.
  void add_head(std::string_view key, Cell value) { head_.emplace_back(key, std::move(value)); }
  /// Must have as many cells as there are columns.
  void add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  [[nodiscard]] std::size_t size() const { return rows_.size(); }
  [[nodiscard]] const std::vector<std::vector<Cell>>& rows() const { return rows_; }

  /// Whether `word` names a column, as for --sort; "" does.
  [[nodiscard]] bool has_column(std::string_view word) const { return word.empty() || find_column(word).has_value(); }

  /// Keeps the rows that the view selects, in its order. Returns "", or an error in the view, or that nothing matches.
  std::string select(const ReportView& view);

  /// Prints all rows in the view's layout.
  [[nodiscard]] std::string print(const ReportView& view) const;

  /// Writes the rows as a list within a larger document.
  void write_list(JsonWriter& json) const;

  /// For reports that print one row at a time: the header, and the last row. JSON has an object for each row, and no
  /// header.
  [[nodiscard]] std::string header(const ReportView& view) const;
  [[nodiscard]] std::string last_row(const ReportView& view) const;

 private:
  [[nodiscard]] std::optional<std::size_t> find_column(std::string_view word) const;
  [[nodiscard]] std::string unknown_column(std::string_view word) const;
  [[nodiscard]] bool is_wanted(const std::vector<Cell>& row, const ReportView& view) const;
  [[nodiscard]] std::string nothing_matches(const ReportView& view) const;
  [[nodiscard]] std::string text(const ReportView& view) const;
  [[nodiscard]] std::string csv_row(const std::vector<Cell>& row) const;
  [[nodiscard]] std::string csv_header() const;
  [[nodiscard]] std::string json(bool is_compact) const;
  [[nodiscard]] std::string streamed(const std::vector<std::string>& cells) const;

  std::string_view name_;
  std::span<const ReportColumn> columns_;
  std::size_t names_;
  std::vector<std::pair<std::string, Cell>> head_;
  std::vector<std::vector<Cell>> rows_;
};

/// A cell in text; "-" if unknown.
std::string text_of(const Cell& cell, const ReportColumn& column, bool is_human);

/// The shortest decimal representation that restores the number.
std::string number_text(double value);

/// In the format of strftime.
std::string utc_text(std::int64_t realtime_ns, const char* format);

/// "15:04:05" or "2026-11-22T15:04:05Z", in UTC.
inline std::string time_text(std::int64_t realtime_ns, bool with_date) {
  return utc_text(realtime_ns, with_date ? "%Y-%m-%dT%H:%M:%SZ" : "%H:%M:%S");
}

/// The table in the view's format, or why there is none.
Report report_of(ReportTable table, const ReportView& view);

using memstat::JsonWriter;

}  // namespace memstat::ctl
