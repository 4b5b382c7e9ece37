// SPDX-License-Identifier: BSD-2-Clause
// Properties of kernel types that follow from their names.
#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>

#include "core/model/field.h"

namespace memstat {

/// Whether failures of the type are routine, because the kernel allocates without waiting and has a second way: without a
/// bucket a zone works, too (sys/vm/uma_core.c, bucket_alloc), pages also come from the free lists (sys/vm/vm_page.c,
/// vm_page_alloc_domain_after), and boundary tags from a reserve (sys/kern/subr_vmem.c, bt_fill).
constexpr bool fails_routinely(Allocator allocator, std::string_view type) {
  return allocator == Allocator::kUma && (type.ends_with(" Bucket") || type == "vm pgcache" || type == "vmem btag");
}

/// Whether the type's memory also appears, in parts, under other types: page zones, control groups, processes, jails,
/// address space.
constexpr bool is_container(Allocator allocator, std::string_view type) {
  switch (allocator) {
    case Allocator::kPage:
    case Allocator::kMemcg:
    case Allocator::kProcess:
    case Allocator::kJail: return true;
    // The memory that contains malloc and uma, and reservations of memory and swap.
    case Allocator::kTable: return type == "kmem" || type == "kernel_address_space" || type == "swap_reservations";
    // Zones that contain malloc's types, and zones of other zones' items.
    case Allocator::kUma: return type.starts_with("malloc-") || type == "mbuf_packet";
    default: return false;
  }
}

/// Whether the kernel reclaims the type's memory when memory is short: it grows while there is room and then shrinks. On
/// Linux these are the caches with SLAB_RECLAIM_ACCOUNT, and memory with the same lifetime as their objects.
constexpr bool is_cache(Allocator allocator, std::string_view type) {
  const auto is_any = [type](const auto& names) {
    return std::find(std::begin(names), std::end(names), type) != std::end(names);
  };
  constexpr std::string_view kSlabs[] = {
      "dentry",  "radix_tree_node", "buffer_head",      "lsm_inode_cache", "xfs_inode",        "xfs_buf",
      "xfs_ili", "btrfs_inode",     "btrfs_extent_map", "zswap_entry",     "f2fs_extent_tree", "selinux_inode_security"};
  constexpr std::string_view kHeldInodes[] = {"sock_inode_cache", "mqueue_inode_cache", "shmem_inode_cache",
                                              "hugetlbfs_inode_cache"};
  constexpr std::string_view kZones[] = {"VNODE",      "S VFS Cache", "L VFS Cache",     "STS VFS Cache", "LTS VFS Cache",
                                         "FFS inode",  "FFS1 dinode", "FFS2 dinode",     "DIRHASH",       "buf free cache",
                                         "vm pgcache", "dnode_t",     "zfs_znode_cache", "sa_cache",      "dmu_buf_impl_t"};
  constexpr std::string_view kTables[] = {"dentries",       "inodes",        "vnodes",     "buffer_space",
                                          "buffer_headers", "tcp_time_wait", "free_vnodes"};
  switch (allocator) {
    // Inodes of sockets, queues and tmpfs are freed with what they belong to, not by reclaim.
    case Allocator::kSlab:
      return is_any(kSlabs) || type.starts_with("kmalloc-rcl-") || type.ends_with("extent_status") ||
             (type.ends_with("_inode_cache") && !is_any(kHeldInodes));
    case Allocator::kUma:
      return is_any(kZones) || type.ends_with(" Bucket") || type.starts_with("arc_buf") || type.starts_with("zio_") ||
             type.starts_with("abd_");
    case Allocator::kTable: return is_any(kTables);
    case Allocator::kZswap: return true;
    default: return false;
  }
}

/// The same for a part of the memory account.
constexpr bool is_cache_part(std::string_view part) {
  constexpr std::string_view kParts[] = {
      "page_cache", "buffers", "swap_cache", "slab_reclaimable", "per_cpu_pages", "inactive", "cache", "kernel_misc", "arc"};
  return std::find(std::begin(kParts), std::end(kParts), part) != std::end(kParts);
}

}  // namespace memstat
