// SPDX-License-Identifier: BSD-2-Clause
// Maps the caches of /proc/slabinfo to directories of /sys/kernel/slab, and derives two files of each from it.
//
// Each cache in slabinfo has an entry of its name in /sys/kernel/slab, with '!' for '/'. The entry is a directory, or a link
// to a directory with an artificial name (":0000064"). Several names may link to it, because caches with similar objects are
// merged (sysfs_slab_add and sysfs_slab_alias in mm/slub.c). slabinfo lists a merged cache under only one of its names, so
// the names come from slabinfo. A link is replaced when another cache of its name is created; it then leads to a cache that
// is not the one in slabinfo.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ascii.h"
#include "core/base/buffer.h"
#include "core/kernel/kernel_view.h"
#include "core/parse/slabinfo.h"

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

/// Whether this kernel has only memory node 0.
bool has_one_node(KernelView& view, Buffer& scratch);

/// Keeps the files of SlabCounts open, like KernelView::keep_open. Errors: those of slabinfo.
Result<void> keep_slab_counts_open(KernelView& view);

/// The values of `slabs` and `total_objects` in a cache's directory in /sys/kernel/slab, derived from /proc/slabinfo:
/// both come from the same kernel counters (nr_slabs and total_objects in mm/slub.c). slabinfo has no figures by node,
/// so this works only on machines with one node. slabinfo is one file for all caches, whereas every open file that has
/// been read costs the kernel 4 KiB.
class SlabCounts {
 public:
  Result<void> read(KernelView& view);

  /// Moves to the cache with this name. Cheap if caches come in the order of the file. Returns false if it is not
  /// listed.
  bool find(std::string_view cache);

  /// The content of the current cache's files as the kernel writes it: "12 N0=12\n", without NUMA "12\n". The second
  /// call overwrites the result of the first.
  [[nodiscard]] std::string_view slabs() { return text_of(line_.slabs); }
  [[nodiscard]] std::string_view total_objects() { return text_of(line_.slots); }

 private:
  bool find_from(SlabinfoReader lines, std::string_view cache);
  std::string_view text_of(std::uint64_t count);

  Buffer slabinfo_;
  Buffer scratch_;
  bool has_nodes_ = false;
  SlabinfoReader next_{{}};  // after the current cache
  SlabinfoLine line_;
  StackText<64> text_;
};

}  // namespace memstat
