// SPDX-License-Identifier: BSD-2-Clause
// The figures of one memory type as reports see them, whether they come from a kernel, a capture or a running memstatd.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/include/memstat.h"

namespace memstat::ctl {

/// One type. A figure that is not in `figures` is not known, and its value is 0; amounts that came out below 0, because
/// counters were read a moment apart, are 0. Thread safety: a plain value.
struct TypeRow {
  std::string host;                       ///< Of several that are read at once; "" for one.
  std::string os;                         ///< "linux", "freebsd"; "" where it is not known.
  std::string allocator;                  ///< "slab"
  int allocator_number = ALLOCATOR_ANY;   ///< ALLOCATOR_*, for the order; ALLOCATOR_ANY where memstat.h does not have it
  std::string name;                       ///< Valid UTF-8, any characters: printable() is for terminals.
  std::vector<std::string> also;          ///< The other names of a merged slab cache.
  std::string detail;                     ///< File and line of a call site; "" for most.
  std::uint32_t figures = 0;              ///< MEMSTAT_FIGURE_*
  std::uint64_t bytes = 0;                ///< in use
  std::uint64_t objects = 0;              ///< in use
  std::uint64_t held = 0;                 ///< B taken from the system
  std::uint64_t free = 0;                 ///< objects cached for reuse
  std::uint64_t failures = 0;             ///< since boot
  std::uint64_t object_size = 0;          ///< B
  std::uint64_t limit_objects = 0;        ///< 0: none
  std::uint64_t limit_bytes = 0;          ///< B; 0: none
  std::optional<double> limit_used = {};  ///< As a daemon has it, 1 for all of it; none: to be worked out of the figures.
  std::optional<std::uint64_t> tasks;     ///< Of a control group whose tasks have a limit.
  std::uint64_t tasks_limit = 0;          ///< Means something with `tasks` only.
  std::optional<double> growth = {};      ///< B/s over a daemon's window; none: it was not watched.
  bool is_container = false;              ///< Memory that other types tell in parts: never to be ranked beside them.
  bool fails_routinely = false;           ///< Failures are part of its normal work.
};

/// The other names of a merged slab cache: "a, b and c" with " and " as the last separator; "" for none.
std::string other_names(const TypeRow& type, std::string_view last);

/// What makes types different, in the order of reports whose other keys are equal: allocator, name, host.
using TypeIdentity = std::tuple<int, std::string, std::string, std::string>;
inline TypeIdentity identity_of(const TypeRow& type) {
  return {type.allocator_number, type.allocator, type.name, type.host};
}

/// The ALLOCATOR_* that users know by this word; ALLOCATOR_ANY for a word that is none.
int allocator_number(std::string_view name);

}  // namespace memstat::ctl
