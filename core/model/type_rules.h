// SPDX-License-Identifier: BSD-2-Clause
// What the names of kernels' own types say about them.
#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>

#include "core/model/field.h"

namespace memstat {

/// Whether failures of the type are part of normal work. They are for the bucket zones of uma(9): a bucket is allocated
/// without waiting, and where there is none the zone works without it (sys/vm/uma_core.c, bucket_alloc).
constexpr bool fails_routinely(Allocator allocator, std::string_view type) {
  return allocator == Allocator::kUma && type.ends_with(" Bucket");
}

/// Whether the type is memory that other types show in parts: zones of pages, control groups, processes, address space.
constexpr bool is_container(Allocator allocator, std::string_view type) {
  switch (allocator) {
    case Allocator::kPage:
    case Allocator::kMemcg:
    case Allocator::kProcess: return true;
    // What malloc and uma live in, and what is promised of memory and swap.
    case Allocator::kTable: return type == "kmem" || type == "kernel_address_space" || type == "swap_reservations";
    // What malloc's types live in, and items of other zones.
    case Allocator::kUma: return type.starts_with("malloc-") || type == "mbuf_packet";
    default: return false;
  }
}

/// Whether the kernel takes the memory of the type back when memory is short: what fills while there is room, and shrinks
/// when there is none. On Linux these are the caches with SLAB_RECLAIM_ACCOUNT, and what lives as long as their objects.
constexpr bool is_cache(Allocator allocator, std::string_view type) {
  const auto is_any = [type](const auto& names) {
    return std::find(std::begin(names), std::end(names), type) != std::end(names);
  };
  constexpr std::string_view kSlabs[] = {
      "dentry",  "radix_tree_node", "buffer_head",      "lsm_inode_cache", "xfs_inode",        "xfs_buf",
      "xfs_ili", "btrfs_inode",     "btrfs_extent_map", "zswap_entry",     "f2fs_extent_tree", "selinux_inode_security"};
  constexpr std::string_view kZones[] = {"VNODE",      "S VFS Cache", "L VFS Cache",     "STS VFS Cache", "LTS VFS Cache",
                                         "FFS inode",  "FFS1 dinode", "FFS2 dinode",     "DIRHASH",       "buf free cache",
                                         "vm pgcache", "dnode_t",     "zfs_znode_cache", "sa_cache",      "dmu_buf_impl_t"};
  constexpr std::string_view kTables[] = {"dentries",       "inodes",        "vnodes",     "buffer_space",
                                          "buffer_headers", "tcp_time_wait", "free_vnodes"};
  switch (allocator) {
    // The inodes of sockets are freed with them, not by reclaim.
    case Allocator::kSlab:
      return is_any(kSlabs) || type.starts_with("kmalloc-rcl-") || type.ends_with("extent_status") ||
             (type.ends_with("_inode_cache") && type != "sock_inode_cache" && type != "mqueue_inode_cache");
    case Allocator::kUma:
      return is_any(kZones) || type.ends_with(" Bucket") || type.starts_with("arc_buf") || type.starts_with("zio_") ||
             type.starts_with("abd_");
    case Allocator::kTable: return is_any(kTables);
    case Allocator::kZswap: return true;
    default: return false;
  }
}

/// The same of a part of the account of all memory.
constexpr bool is_cache_part(std::string_view part) {
  constexpr std::string_view kParts[] = {"page_cache",    "buffers",  "swap_cache", "slab_reclaimable",
                                         "per_cpu_pages", "inactive", "cache",      "kernel_misc"};
  return std::find(std::begin(kParts), std::end(kParts), part) != std::end(kParts);
}

}  // namespace memstat
