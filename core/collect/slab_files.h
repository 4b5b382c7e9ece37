// SPDX-License-Identifier: BSD-2-Clause
// The files in a slab cache's directory in /sys/kernel/slab that linux_slab_sysfs reads.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace memstat::sources::linux_slab_sysfs {

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

using FileSet = std::uint32_t;  // a bit for each File
constexpr FileSet bit(File file) { return FileSet{1} << file; }
inline constexpr FileSet kAllocFiles = bit(kAllocFastpathFile) | bit(kAllocSlowpathFile);
inline constexpr FileSet kNeededFreeFiles = bit(kFreeFastpathFile) | bit(kFreeSlowpathFile);
inline constexpr FileSet kFreeFiles = kNeededFreeFiles | bit(kFreeRcuSheafFile);
// Zero if a cache has no slabs, and then not read: the kernel allocates a page when an open file is first read.
inline constexpr FileSet kPartsOfSlabs = bit(kTotalObjectsFile) | bit(kPartialFile) | bit(kCpuSlabsFile) | bit(kObjectsFile);
inline constexpr std::string_view kNoSlabs = "0\n";
inline constexpr FileSet kDerivedFiles =
    bit(kSlabsFile) | bit(kTotalObjectsFile);  // derived from slabinfo, see core/collect/slab_directories.h
inline constexpr FileSet kAllButCounters = bit(kSlabsFile) | bit(kTotalObjectsFile) | bit(kPartialFile) | bit(kCpuSlabsFile);

}  // namespace memstat::sources::linux_slab_sysfs
