// SPDX-License-Identifier: BSD-2-Clause
// The allocated objects of one zone of a FreeBSD kernel's uma(9) that stopped, as FreeBSD 13 to 15 keep them.
//
// A keg's slabs are on three lists of each domain: free, partly and fully allocated. A slab has a bit for each free item.
// What zones keep for themselves, in buckets of CPUs and domains, the slabs count as allocated. The zones of one keg share
// its slabs, which do not say whose an item is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/postmortem/freebsd/image.h"
#include "core/postmortem/freebsd/machine.h"
#include "core/postmortem/kernel/slab_objects.h"

namespace memstat::postmortem {

/// One zone. Thread safety: a plain value.
struct UmaZone {
  std::string name;
  std::uint64_t object_size = 0;             ///< B that a caller gets.
  std::uint64_t keg = 0;                     ///< Its address; 0: it has none, and keeps items of another allocator.
  std::vector<std::uint64_t> zones_of_keg;   ///< The addresses of all that share the keg, this one included.
  std::vector<std::string> names_in_common;  ///< The names of the others.
};

struct UmaWalk {
  std::vector<UmaZone> zones;
  std::vector<std::string> damage;  ///< A line each, for people; none as a rule.
};

/// All zones, by keg, then those without one. Errors: kKvmNoSymbol when the kernel has no list of them or no type for it;
/// those of read when its head cannot be read. A list that is torn, poisoned or in a circle ends there.
Result<UmaWalk> walk_uma_zones(FreeBsdKernel& kernel);

/// Finds them, with at most `most` of them one by one; of zones that share a keg those of all. Nothing is known of who
/// allocated them. Errors: kNotPresent of a zone without a keg; kKvmNoSymbol when the kernel lacks a type; those of read
/// when the keg cannot be read. What is wrong with one slab or bucket is a note.
Result<SlabObjects> read_uma_objects(FreeBsdKernel& kernel, const FreeBsdMachine& machine, const UmaZone& zone,
                                     std::uint64_t most);

}  // namespace memstat::postmortem
