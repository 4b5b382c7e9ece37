// SPDX-License-Identifier: BSD-2-Clause
// The figures of memory types as reports show them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/include/memstat.h"
#include "daemon/ctl/output/report_table.h"
#include "daemon/ctl/source/type_row.h"

namespace memstat::ctl {

/// A figure of types and what it is called. Thread safety: a plain value.
struct Column {
  const char* title;     ///< in tables
  const char* key;       ///< in JSON
  std::uint32_t figure;  ///< MEMSTAT_FIGURE_*
  std::uint64_t TypeRow::*value;
  bool is_bytes;
};

inline constexpr Column kBytesInUse{"BYTES", "bytes", MEMSTAT_FIGURE_BYTES, &TypeRow::bytes, true};
inline constexpr Column kObjectsInUse{"OBJECTS", "objects", MEMSTAT_FIGURE_COUNT, &TypeRow::objects, false};
inline constexpr Column kBytesHeld{"HELD", "held", MEMSTAT_FIGURE_HELD_BYTES, &TypeRow::held, true};
inline constexpr Column kFreeObjects{"FREE", "free", MEMSTAT_FIGURE_FREE, &TypeRow::free, false};
inline constexpr Column kFailures{"FAILURES", "failures", MEMSTAT_FIGURE_FAILURES, &TypeRow::failures, false};
inline constexpr Column kObjectSize{"SIZE", "object_size", MEMSTAT_FIGURE_SIZE, &TypeRow::object_size, false};
inline constexpr Column kObjectLimit{"LIMIT", "limit", MEMSTAT_FIGURE_COUNTLIMIT, &TypeRow::limit_objects, false};
inline constexpr Column kByteLimit{"LIMIT", "byte_limit", MEMSTAT_FIGURE_BYTESLIMIT, &TypeRow::limit_bytes, true};

/// Whether the figure is known.
bool has(const TypeRow& type, const Column& column);

/// 0 when it is not known.
std::uint64_t figure_of(const TypeRow& type, const Column& column);

/// The figure as text, bytes as 2.3M if `is_human`; "-" when it is not known.
std::string cell(const TypeRow& type, const Column& column, bool is_human);

/// An amount of bytes, or of objects, as text.
std::string amount_text(std::uint64_t amount, bool is_bytes, bool is_human);

/// What a limit, or another figure, is a number of.
inline const char* unit_of(const Column& column) { return column.is_bytes ? "bytes" : "objects"; }

/// The limit that will be met first, of bytes or of objects.
struct NearestLimit {
  const Column* column = nullptr;  ///< null: the type has no limit
  std::uint64_t counted = 0;       ///< what counts against it, in its unit; for uma(9) with what is cached
  std::optional<double> used;      ///< 1 for all of it; nothing when what counts against it is unknown
};
NearestLimit nearest_limit(const TypeRow& type);

}  // namespace memstat::ctl
