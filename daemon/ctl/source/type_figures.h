// SPDX-License-Identifier: BSD-2-Clause
// Memory types and their figures for reports, from a kernel, a capture or a running memstatd.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/include/memstat.h"
#include "core/model/field.h"
#include "daemon/ctl/output/report_table.h"
#include "daemon/snapshot/row_extras.h"

namespace memstat::ctl {

/// A type. Unknown figures are missing from `figures` and are 0. Amounts that were negative, because counters were not
/// read at the same instant, are 0.
struct TypeRow {
  std::string host;                       ///< If several hosts are read at once; otherwise "".
  std::string os;                         ///< "linux", "freebsd"; "" if unknown.
  std::string allocator;                  ///< "slab"
  int allocator_number = ALLOCATOR_ANY;   ///< ALLOCATOR_*, for sorting; ALLOCATOR_ANY if memstat.h does not have it
  std::string name;                       ///< Valid UTF-8, any characters; use printable() for terminals.
  std::vector<std::string> also;          ///< Other names of a merged slab cache.
  std::string detail;                     ///< File and line of a call site; usually "".
  std::uint32_t figures = 0;              ///< MEMSTAT_FIGURE_*
  std::uint64_t bytes = 0;                ///< in use
  std::uint64_t objects = 0;              ///< in use
  std::uint64_t held = 0;                 ///< B taken from the system
  std::uint64_t free = 0;                 ///< objects cached for reuse
  std::uint64_t failures = 0;             ///< since boot
  std::uint64_t object_size = 0;          ///< B
  std::uint64_t limit_objects = 0;        ///< 0: none
  std::uint64_t limit_bytes = 0;          ///< B; 0: none
  std::optional<double> limit_used = {};  ///< From a daemon, 1 for all of it; empty: to be computed from the figures.
  std::optional<std::uint64_t> tasks;     ///< For a control group with a limit of tasks.
  std::uint64_t tasks_limit = 0;          ///< Only valid with `tasks`.
  GroupHeadroom headroom = {};            ///< Of a control group with a limit of its own or above it.
  std::optional<double> growth = {};      ///< B/s over a daemon's window; empty: not observed.
  bool is_container = false;              ///< Its memory is also counted in other types, so it must not be ranked with them.
  bool fails_routinely = false;           ///< Failures are part of normal operation.
};

/// The other names of a merged slab cache: "a, b and c" with " and " as the last separator; "" for none.
std::string other_names(const TypeRow& type, std::string_view last);

/// The identity of a type; also the order of reports for equal values: allocator, name, host.
using TypeIdentity = std::tuple<int, std::string, std::string, std::string>;
inline TypeIdentity identity_of(const TypeRow& type) {
  return {type.allocator_number, type.allocator, type.name, type.host};
}

/// The ALLOCATOR_* with this name; ALLOCATOR_ANY if unknown.
int allocator_number(std::string_view name);

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
std::string figure_text(std::uint64_t amount, bool is_bytes, bool is_human);

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
