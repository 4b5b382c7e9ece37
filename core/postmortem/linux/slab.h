// SPDX-License-Identifier: BSD-2-Clause
// Every slab cache of a Linux kernel that stopped, with what its nodes and CPUs hold: mm/slub.c's lists, walked in a dump.
//
//   slab_caches -> kmem_cache -> node[N] (per_node[N].node since 7.0) -> partial -> slab -> slab -> ...
//                             -> cpu_slab of each CPU: a slab, and a list of partial ones (until 6.19)
//                             -> cpu_sheaves of each CPU: arrays of free objects (since 6.18), the node's barn holds more
//
// The kernel stopped anywhere, and its memory may be what went wrong: a list may be torn, a pointer poisoned. Each list is
// followed only while what it leads to points back, and what is wrong is said of the cache that it belongs to. SLAB, which
// was an alternative until Linux 6.7, and SLOB (until 6.3) are not read.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/postmortem/linux/cpus.h"
#include "core/postmortem/linux/kernel_image.h"

namespace memstat::postmortem {

/// One cache. Thread safety: a plain value.
struct SlabCache {
  struct Node {
    std::uint32_t number = 0;
    std::uint64_t slabs = 0;         ///< nr_slabs
    std::uint64_t objects = 0;       ///< total_objects
    std::uint64_t partial = 0;       ///< nr_partial
    std::uint64_t partial_free = 0;  ///< Free objects in the slabs of the partial list.
    std::uint64_t barn_free = 0;     ///< Free objects in full sheaves of the node's barn.
    std::uint64_t cpu_slabs = 0;     ///< Slabs of this node that CPUs hold; 0 where the slab's node is not known.
    std::uint64_t barn = 0;          ///< Address of its struct node_barn; 0: it has none.
  };
  struct Cpu {
    std::uint32_t number = 0;
    std::uint64_t slabs = 0;      ///< That it holds: the active one, and partial ones.
    std::uint64_t free = 0;       ///< Objects in them, and in its sheaves, that are free. slabinfo counts them as used.
    std::uint64_t free_list = 0;  ///< Address of the first object of its own list; 0: it is empty.
    std::array<std::uint64_t, 3> sheaves{};  ///< Addresses of its struct slab_sheaf; 0: there is none.
  };

  std::string name;
  std::uint64_t address = 0;      ///< Of its struct kmem_cache.
  std::uint64_t object_size = 0;  ///< B, what a caller gets.
  std::uint64_t size = 0;         ///< B, what an object takes.
  std::uint64_t objects_per_slab = 0;
  std::uint64_t order = 0;  ///< A slab has 2^order pages.
  std::vector<Node> nodes;  ///< Those that it has.
  std::vector<Cpu> cpus;    ///< Those present.
  std::string damage;       ///< What was first found wrong with it, for people; "" when nothing.
};

struct SlabWalk {
  std::vector<SlabCache> caches;  ///< In the kernel's order, which is slabinfo's.
  std::string damage;             ///< What was wrong with the list of caches, for people; "" when nothing.
};

/// Walks them. Errors: kKvmNoSymbol and kVersion when the kernel's slabs are not of a kind that we know. What is wrong with
/// one cache or its lists is said in its `damage`.
Result<SlabWalk> walk_slab_caches(KernelImage& image, const LinuxMachine& machine);

}  // namespace memstat::postmortem
