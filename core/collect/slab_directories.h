// SPDX-License-Identifier: BSD-2-Clause
// Which directory of /sys/kernel/slab belongs to which cache of /proc/slabinfo.
//
// Each cache that slabinfo lists has an entry of its name in /sys/kernel/slab, with '!' for '/': a directory, or a link to
// one with a made-up name (":0000064") that several names may lead to, since caches of like objects are merged
// (sysfs_slab_add and sysfs_slab_alias of mm/slub.c). slabinfo lists a merged cache under one of its names only; links of
// other names are no cache's. So the names of slabinfo are the way in. But a link is made anew when another cache of its
// name comes, and then leads away from the one that slabinfo lists.
#pragma once

#include <string>
#include <vector>

#include "core/base/buffer.h"
#include "core/kernel/kernel_view.h"

namespace memstat {

/// A cache of /proc/slabinfo. Thread safety: a plain value.
struct SlabDirectory {
  std::string cache;      ///< As in slabinfo: any bytes, except blanks at both ends. Not unique.
  std::string directory;  ///< Its entry in /sys/kernel/slab; "": none, or it may be another cache's.
};

/// The caches in slabinfo, in order, without malformed lines, and their directories. A directory is certain if its
/// slab_size matches slabinfo and no other name leads to it. `scratch` holds one file at a time. Errors: those of
/// reading slabinfo, and of an existing but unreadable slab_size.
Result<std::vector<SlabDirectory>> find_slab_directories(KernelView& view, Buffer& scratch);

}  // namespace memstat
