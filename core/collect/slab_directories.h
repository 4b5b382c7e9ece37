// SPDX-License-Identifier: BSD-2-Clause
// Maps the caches of /proc/slabinfo to directories of /sys/kernel/slab.
//
// Each cache in slabinfo has an entry of its name in /sys/kernel/slab, with '!' for '/'. The entry is a directory, or a link
// to a directory with an artificial name (":0000064"). Several names may link to it, because caches with similar objects are
// merged (sysfs_slab_add and sysfs_slab_alias in mm/slub.c). slabinfo lists a merged cache under only one of its names, so
// the names come from slabinfo. A link is replaced when another cache of its name is created; it then leads to a cache that
// is not the one in slabinfo.
#pragma once

#include <string>
#include <vector>

#include "core/base/buffer.h"
#include "core/kernel/kernel_view.h"

namespace memstat {

/// A cache of /proc/slabinfo.
struct SlabDirectory {
  std::string cache;      ///< As in slabinfo: any bytes, except blanks at both ends. Not unique.
  std::string directory;  ///< Its entry in /sys/kernel/slab; "": none, or it may be another cache's.
};

/// The caches in slabinfo, in order, without malformed lines, and their directories. A directory is certain if its
/// slab_size matches slabinfo and no other name leads to it. `scratch` holds one file at a time. Errors: those of
/// reading slabinfo, and of an existing but unreadable slab_size.
Result<std::vector<SlabDirectory>> find_slab_directories(KernelView& view, Buffer& scratch);

}  // namespace memstat
