// SPDX-License-Identifier: BSD-2-Clause
// The texts that the build embeds, as tables: well-known memory types, limits, runbooks.
#pragma once

#include <array>
#include <bit>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/text.h"

namespace memstat {

// ---- types ----

/// Describes a type, or all types that match a pattern. Each text is one line.
struct KnownType {
  std::string_view allocator;  ///< "slab", "uma", ...
  std::string_view pattern;    ///< The name; '*' matches any characters.
  std::string_view what;       ///< Description of one object.
  std::string_view growth;     ///< Advice for when it grows.
};

/// known_types.txt, embedded when it is built.
std::string_view known_types_text();

/// All of them, best match first.
std::span<const KnownType> known_types();

/// Whether all of `name` matches; '*' matches any characters.
bool matches_pattern(std::string_view pattern, std::string_view name);

// ---- limits ----

/// Static.
struct LimitWord {
  std::string_view os = {};         ///< "linux", "freebsd"
  std::string_view allocator = {};  ///< "uma"
  std::string_view type = {};       ///< The name; '*' stands for any characters.
  std::string_view tunable;         ///< "kern.ipc.nmbclusters"
  std::string_view where;           ///< The place of the setting: "sysctl", "loader.conf", ...
  std::string_view note;            ///< A remark for the end of a line; "" for none.
};

/// limit_words.txt, embedded.
std::string_view limit_words_text();

/// nullptr if the type's limit or the system is unknown.
const LimitWord* limit_word(std::string_view os, std::string_view allocator, std::string_view type);

// ---- runbooks ----

/// The whole file. Static.
std::string_view runbooks_text();

/// The runbook of one alert.
struct Runbook {
  std::string_view alert;    ///< "MemstatNearLimit"
  std::string_view section;  ///< The text below its heading, without leading and trailing blank lines.
};

/// One per second-level heading, in file order. Views of runbooks_text().
std::vector<Runbook> runbooks();

/// The alert whose runbook is about that cause; "" if it has none, or is unknown.
std::string_view runbook_of_cause(std::string_view cause);

// ---- any table ----

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
