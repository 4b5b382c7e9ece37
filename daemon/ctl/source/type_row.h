// SPDX-License-Identifier: BSD-2-Clause
// The figures of a memory type for reports, from a kernel, a capture or a running memstatd.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/include/memstat.h"

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

}  // namespace memstat::ctl
