// SPDX-License-Identifier: BSD-2-Clause
// The files that a slab cache has in its directory of /sys/kernel/slab, as far as linux_slab_sysfs reads them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace memstat::sources::linux_slab_sysfs {

/// Files of a cache that are read again and again.
enum File : std::uint8_t {
  kSlabsFile,
  kTotalObjectsFile,
  kPartialFile,
  kCpuSlabsFile,
  kObjectsFile,
  kAllocFastpathFile,
  kAllocSlowpathFile,
  kFreeFastpathFile,
  kFreeSlowpathFile,
  kFreeRcuSheafFile,
  kFileCount
};
inline constexpr std::array<std::string_view, kFileCount> kFileNames = {
    "slabs",          "total_objects",  "partial",       "cpu_slabs",     "objects",
    "alloc_fastpath", "alloc_slowpath", "free_fastpath", "free_slowpath", "free_rcu_sheaf"};
inline constexpr std::string_view kAllocFromSheafFile = "alloc_cpu_sheaf";

using FileSet = std::uint32_t;  // a bit a File
constexpr FileSet bit(File file) { return FileSet{1} << file; }
inline constexpr FileSet kAllocFiles = bit(kAllocFastpathFile) | bit(kAllocSlowpathFile);
inline constexpr FileSet kNeededFreeFiles = bit(kFreeFastpathFile) | bit(kFreeSlowpathFile);
inline constexpr FileSet kFreeFiles = kNeededFreeFiles | bit(kFreeRcuSheafFile);
// 0, too, where a cache has no slab, and not read then: the first read costs the kernel a page until the file is closed.
inline constexpr FileSet kPartsOfSlabs = bit(kTotalObjectsFile) | bit(kPartialFile) | bit(kCpuSlabsFile) | bit(kObjectsFile);
inline constexpr std::string_view kNoSlabs = "0\n";
inline constexpr FileSet kToldFiles = bit(kSlabsFile) | bit(kTotalObjectsFile);  // see core/collect/slab_counts.h
inline constexpr FileSet kAllButCounters = bit(kSlabsFile) | bit(kTotalObjectsFile) | bit(kPartialFile) | bit(kCpuSlabsFile);

}  // namespace memstat::sources::linux_slab_sysfs
