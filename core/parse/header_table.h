// SPDX-License-Identifier: BSD-2-Clause
// Numbers out of text whose columns have their names in a line above, as /proc/net/snmp, /proc/net/stat/* and
// /proc/sysvipc/* have them. Columns are found by name, because kernels add, drop and move some.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/parse/key_values.h"

namespace memstat {

/// The place of `name` among the words of `header`, from 0, or nothing.
std::optional<std::size_t> column_of(std::string_view header, std::string_view name);

/// One column that is wanted, and what it comes to. Thread safety: a plain value.
struct ColumnTotal {
  std::string_view name;
  bool is_present = false;  ///< The table has this column.
  std::uint64_t first = 0;  ///< In the first row; 0: there is no row.
  std::uint64_t sum = 0;    ///< Of all rows.
};

/// In which digits a table's numbers are.
enum class Digits { kDecimal, kHexadecimal };

/// Fills `columns` from a table: a line of names, then a line a row, each ending with a newline; `rows` becomes the number
/// of rows. Columns that no caller wants may hold anything. Returns the offset of the first line that is cut short, or whose
/// wanted values are not there, no numbers, or more than 64 bits together; nothing when all is well. Allocates nothing.
std::optional<std::size_t> sum_columns(std::string_view text, Digits digits, std::span<ColumnTotal> columns,
                                       std::size_t& rows);

/// Fills `numbers` from the two lines that begin with `prefix` ("TcpExt:"): the first has the names, the second the values.
/// In one pass that is quickest when `numbers` stand in the order of the text. Returns the offset of the line that is cut
/// short or lacks a wanted value, or whose wanted value is no number; nothing when all is well, also when there are no such
/// lines. Allocates nothing.
std::optional<std::size_t> read_paired_numbers(std::string_view text, std::string_view prefix,
                                               std::span<KeyedNumber> numbers);

}  // namespace memstat
