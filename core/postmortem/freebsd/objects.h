// SPDX-License-Identifier: BSD-2-Clause
// The allocated objects of a uma(9) zone in a crashed FreeBSD kernel, 13 to 15.
//
// A keg's slabs are on three lists per domain: free, partly and fully allocated. A slab has a bit for each free item. The
// slabs count as allocated what zones cache in buckets of CPUs and domains. The zones of a keg share its slabs, which do not
// record whose an item is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/postmortem/freebsd/image.h"
#include "core/postmortem/freebsd/machine.h"
#include "core/postmortem/kernel/slab_objects.h"

namespace memstat::postmortem {

/// A uma zone.
struct UmaZone {
  std::string name;
  std::uint64_t address = 0;
  bool is_first = true;                      ///< In its keg.
  std::uint64_t object_size = 0;             ///< B usable by the caller.
  std::uint64_t keg = 0;                     ///< Address of its keg; 0: it has none, and caches items of another allocator.
  std::vector<std::uint64_t> zones_of_keg;   ///< Addresses of all zones that share the keg, including this one.
  std::vector<std::string> names_in_common;  ///< Names of the other zones.
};

struct UmaWalk {
  std::vector<UmaZone> zones;
  std::vector<std::string> damage;  ///< One line each, for display; usually none.
};

/// Walks all zones, by keg, then those without one. Errors: kKvmNoSymbol if the kernel file lacks the list or a type;
/// those of read() if the head is unreadable. Ends at torn, poisoned or circular entries.
Result<UmaWalk> walk_uma_zones(FreeBsdKernel& kernel);

/// Finds the allocated objects of a zone, and lists at most `most`; zones that share a keg have the objects of all. Who
/// allocated them is unknown. Errors: kNotPresent for a zone without a keg; kKvmNoSymbol if a type is missing; those of
/// read() if the keg is unreadable. Problems with a single slab or bucket become notes.
Result<SlabObjects> read_uma_objects(FreeBsdKernel& kernel, const FreeBsdMachine& machine, const UmaZone& zone,
                                     std::uint64_t most);

}  // namespace memstat::postmortem
