// SPDX-License-Identifier: BSD-2-Clause
// Memory types in a crash dump and their individual objects, which captures do not have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/postmortem/kernel/slab_objects.h"

namespace memstat::postmortem {

/// A Linux slab cache, or a FreeBSD uma zone.
struct DumpType {
  std::string name;
  std::uint64_t object_size = 0;  ///< B usable by the caller.
  std::string damage = {};        ///< Unreadable parts, for display; usually "".
};

/// The allocated objects in a dump.
struct DumpObjects {
  std::string_view allocator;      ///< "slab" or "uma".
  std::vector<DumpType> types;     ///< In the kernel's order. Names may repeat.
  std::vector<std::string> notes;  ///< Damage that does not belong to one type, for display.
  /// The objects of types[number], at most `most` of them listed. Errors: those of read_slab_objects and
  /// read_uma_objects.
  std::function<Result<SlabObjects>(std::size_t number, std::uint64_t most)> objects_of;
};

/// `dump`: PATH, or PATH@0. Errors: kNotPresent if it is not a dump; those of open_dump_file, open_dump_kernel,
/// walk_slab_caches and walk_uma_zones.
Result<DumpObjects> open_dump_objects(const std::string& dump);

}  // namespace memstat::postmortem
