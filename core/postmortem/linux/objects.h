// SPDX-License-Identifier: BSD-2-Clause
// The allocated objects of a slab cache in a crashed Linux kernel.
//
// Full slabs are on no list, so all pages are searched for those whose struct page names the cache. The free objects of a
// slab are on its own list, on the list of the CPU that holds it, or in a sheaf.
#pragma once

#include <cstdint>

#include "core/postmortem/kernel/slab_objects.h"
#include "core/postmortem/linux/kernel_image.h"
#include "core/postmortem/linux/slab.h"

namespace memstat::postmortem {

/// Finds the allocated objects of a cache from walk_slab_caches(), and lists at most `most`. Errors: those of
/// PageMap::find and KernelImage::read; kVersion. Problems with a single slab become notes.
Result<SlabObjects> read_slab_objects(KernelImage& image, const SlabCache& cache, std::uint64_t most);

}  // namespace memstat::postmortem
