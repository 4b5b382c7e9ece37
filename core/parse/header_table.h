// SPDX-License-Identifier: BSD-2-Clause
// Tables whose columns are named in a header line, such as /proc/net/snmp, /proc/net/stat/* and /proc/sysvipc/*. Columns are
// found by name, because kernels add, drop and move them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/parse/key_values.h"

namespace memstat {

/// The index of `name` among the words of `header`, or nothing.
std::optional<std::size_t> column_of(std::string_view header, std::string_view name);

struct ColumnTotal {
  std::string_view name;
  bool is_present = false;  ///< Whether the table has this column.
  std::uint64_t first = 0;  ///< Value in the first row; 0 if there are no rows.
  std::uint64_t sum = 0;    ///< Sum over all rows.
};

enum class Digits { kDecimal, kHexadecimal };

/// Fills `columns` from a table: a line of names, then one line per row, each ending with a newline. Sets `rows` to the
/// number of rows. Other columns may contain anything. Returns the offset of the first line that is truncated or whose
/// wanted values are missing, not numbers, or overflow 64 bits in total; nothing on success. Allocates nothing.
std::optional<std::size_t> sum_columns(std::string_view text, Digits digits, std::span<ColumnTotal> columns,
                                       std::size_t& rows);

/// Fills `numbers` from the two lines that begin with `prefix` ("TcpExt:"): names in the first, values in the second.
/// Fastest if `numbers` are in the order of the text. Returns the offset of the line that is truncated or whose wanted value
/// is missing or not a number. Returns nothing on success, and also if there are no such lines. Allocates nothing.
std::optional<std::size_t> read_paired_numbers(std::string_view text, std::string_view prefix,
                                               std::span<KeyedNumber> numbers);

}  // namespace memstat
