// SPDX-License-Identifier: BSD-2-Clause
// The figures of memory types for reports.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "core/include/memstat.h"
#include "core/model/field.h"
#include "daemon/ctl/output/report_table.h"
#include "daemon/ctl/source/type_row.h"

namespace memstat::ctl {

/// A figure of types: its title, and its place in a snapshot, in the C API and in a row.
struct Column {
  const char* title;     ///< next to a value
  const char* key;       ///< in JSON, including the API's
  Field field;           ///< in a snapshot
  std::uint32_t figure;  ///< MEMSTAT_FIGURE_*
  std::uint64_t TypeRow::*value;
  bool is_bytes;
};

inline constexpr Column kBytesInUse{"in use", "bytes", Field::kBytes, MEMSTAT_FIGURE_BYTES, &TypeRow::bytes, true};
inline constexpr Column kBytesHeld{"held", "held_bytes", Field::kHeldBytes, MEMSTAT_FIGURE_HELD_BYTES, &TypeRow::held, true};
inline constexpr Column kObjectsInUse{"objects in use",     "objects",         Field::kCount,
                                      MEMSTAT_FIGURE_COUNT, &TypeRow::objects, false};
inline constexpr Column kFreeObjects{"objects free",      "free_objects", Field::kFree,
                                     MEMSTAT_FIGURE_FREE, &TypeRow::free, false};
inline constexpr Column kObjectSize{"object size",       "object_size_bytes",   Field::kSize,
                                    MEMSTAT_FIGURE_SIZE, &TypeRow::object_size, false};
inline constexpr Column kFailures{"failures",         "failures", Field::kFailures, MEMSTAT_FIGURE_FAILURES,
                                  &TypeRow::failures, false};
inline constexpr Column kObjectLimit{
    "limit", "limit_objects", Field::kCountLimit, MEMSTAT_FIGURE_COUNTLIMIT, &TypeRow::limit_objects, false};
inline constexpr Column kByteLimit{
    "limit", "limit_bytes", Field::kBytesLimit, MEMSTAT_FIGURE_BYTESLIMIT, &TypeRow::limit_bytes, true};

inline constexpr std::array<const Column*, 8> kColumns{&kBytesInUse, &kBytesHeld, &kObjectsInUse, &kFreeObjects,
                                                       &kObjectSize, &kFailures,  &kObjectLimit,  &kByteLimit};

/// Whether the figure is known.
bool has(const TypeRow& type, const Column& column);

/// The share of slab objects that is in use; empty if unknown.
std::optional<double> use_of(const TypeRow& type);

/// 0 if unknown.
std::uint64_t figure_of(const TypeRow& type, const Column& column);

/// The figure as text, bytes as 2.3M if `is_human`; "-" if unknown.
std::string cell(const TypeRow& type, const Column& column, bool is_human);

/// An amount of bytes, or of objects, as text.
std::string amount_text(std::uint64_t amount, bool is_bytes, bool is_human);

/// The unit of a limit or another figure.
inline const char* unit_of(const Column& column) { return column.is_bytes ? "bytes" : "objects"; }

/// The nearest limit, in bytes or objects.
struct NearestLimit {
  const Column* column = nullptr;  ///< null: the type has no limit
  std::uint64_t counted = 0;       ///< amount that counts against it, in its unit; for uma(9) including cached items
  std::optional<double> used;      ///< 1: all of it; empty if the amount is unknown
};
NearestLimit nearest_limit(const TypeRow& type);

}  // namespace memstat::ctl
