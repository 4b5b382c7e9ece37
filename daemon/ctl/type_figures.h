// SPDX-License-Identifier: BSD-2-Clause
// The figures of memory types as reports show them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/include/memstat.h"

namespace memstat::ctl {

/// A figure of memstat.h and what it is called. Thread safety: a plain value.
struct Column {
  const char* title;     ///< in tables
  const char* key;       ///< in JSON
  std::uint32_t figure;  ///< MEMSTAT_FIGURE_*
  std::uint64_t (*get)(const memory_type*);
  bool is_bytes;
};

inline constexpr Column kBytesInUse{"BYTES", "bytes", MEMSTAT_FIGURE_BYTES, memstat_get_bytes, true};
inline constexpr Column kObjectsInUse{"OBJECTS", "objects", MEMSTAT_FIGURE_COUNT, memstat_get_count, false};
inline constexpr Column kBytesHeld{"HELD", "held", MEMSTAT_FIGURE_HELD_BYTES, memstat_get_held_bytes, true};
inline constexpr Column kFreeObjects{"FREE", "free", MEMSTAT_FIGURE_FREE, memstat_get_free, false};
inline constexpr Column kFailures{"FAILURES", "failures", MEMSTAT_FIGURE_FAILURES, memstat_get_failures, false};
inline constexpr Column kObjectLimit{"LIMIT", "limit", MEMSTAT_FIGURE_COUNTLIMIT, memstat_get_countlimit, false};
inline constexpr Column kByteLimit{"LIMIT", "byte_limit", MEMSTAT_FIGURE_BYTESLIMIT, memstat_get_byteslimit, true};

/// Whether the kernel has the figure.
bool has(const memory_type* type, const Column& column);

/// 0 for what came out below 0, because counters were read a moment apart.
std::uint64_t figure_of(const memory_type* type, const Column& column);

/// The figure as text, bytes as 2.3M if `is_human`; "-" when the kernel does not have it.
std::string cell(const memory_type* type, const Column& column, bool is_human);

/// An amount of bytes, or of objects, as text.
std::string amount_text(std::uint64_t amount, bool is_bytes, bool is_human);

/// The limit that will be met first, of bytes or of objects.
struct NearestLimit {
  const Column* column = nullptr;  ///< null: the type has no limit
  std::uint64_t counted = 0;       ///< what counts against it, in its unit; for uma(9) with what is cached
  std::optional<double> used;      ///< 1 for all of it; nothing when what counts against it is unknown
};
NearestLimit nearest_limit(const memory_type* type);

/// 0.5 is "50%".
std::string percent(double part);

/// Whether failures of the type are part of normal work: bucket zones of uma(9).
bool fails_routinely(const memory_type* type);

}  // namespace memstat::ctl
