// SPDX-License-Identifier: BSD-2-Clause
// Tables of texts: files beside this one that the build embeds.
#pragma once

#include <array>
#include <bit>
#include <string_view>
#include <vector>

#include "core/base/text.h"

namespace memstat {

/// The lines of a table as rows. A row is a struct of views of `text`, one for each field, in order; fields are separated by
/// |. Missing fields are empty.
template <typename Row>
std::vector<Row> rows_of(std::string_view text) {
  std::vector<Row> rows;
  for (std::string_view line; next_line(text, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    std::array<std::string_view, sizeof(Row) / sizeof(std::string_view)> fields;
    for (std::string_view& field : fields) {
      const std::size_t end = line.find('|');
      field = trim(line.substr(0, end));
      line = end == std::string_view::npos ? std::string_view() : line.substr(end + 1);
    }
    rows.push_back(std::bit_cast<Row>(fields));
  }
  return rows;
}

}  // namespace memstat
