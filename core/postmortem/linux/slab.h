// SPDX-License-Identifier: BSD-2-Clause
// All slab caches of a crashed Linux kernel with their nodes and CPUs: the lists of mm/slub.c, walked in a dump.
//
//   slab_caches -> kmem_cache -> node[N] (per_node[N].node since 7.0) -> partial -> slab -> slab -> ...
//                             -> cpu_slab of each CPU: a slab, and a list of partial ones (until 6.19)
//                             -> cpu_sheaves of each CPU: arrays of free objects (since 6.18); the node's barn has more
//
// The crash may have happened at any point, and corrupt memory may have caused it: lists may be torn, pointers poisoned.
// Each list is followed only while its back pointers are right, and problems are reported for the cache that they belong to.
// SLAB, an alternative until Linux 6.7, and SLOB (until 6.3) are not supported.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/postmortem/kernel/slab_objects.h"
#include "core/postmortem/kernel/struct_reader.h"
#include "core/postmortem/linux/cpus.h"
#include "core/postmortem/linux/kernel_image.h"

namespace memstat::postmortem {

/// A slab cache.
struct SlabCache {
  struct Node {
    std::uint32_t number = 0;
    std::uint64_t slabs = 0;         ///< nr_slabs
    std::uint64_t objects = 0;       ///< total_objects
    std::uint64_t partial = 0;       ///< nr_partial
    std::uint64_t partial_free = 0;  ///< Free objects in slabs on the partial list.
    std::uint64_t barn_free = 0;     ///< Free objects in full sheaves of the node's barn.
    std::uint64_t cpu_slabs = 0;     ///< Slabs of this node held by CPUs; 0 if the slab's node is unknown.
    std::uint64_t barn = 0;          ///< Address of its struct node_barn; 0: none.
  };
  struct Cpu {
    std::uint32_t number = 0;
    std::uint64_t slabs = 0;                 ///< Slabs held by the CPU: the active one, and partial ones.
    std::uint64_t free = 0;                  ///< Free objects in these and in its sheaves; slabinfo counts them as used.
    std::uint64_t free_list = 0;             ///< Address of the first object on its own free list; 0: empty.
    std::array<std::uint64_t, 3> sheaves{};  ///< Addresses of its struct slab_sheaf; 0: none.
  };

  std::string name;
  std::uint64_t address = 0;      ///< Of its struct kmem_cache.
  std::uint64_t object_size = 0;  ///< B usable by the caller.
  std::uint64_t size = 0;         ///< B per object.
  std::uint64_t objects_per_slab = 0;
  std::uint64_t order = 0;  ///< A slab has 2^order pages.
  std::vector<Node> nodes;  ///< Existing nodes only.
  std::vector<Cpu> cpus;    ///< Present CPUs.
  std::string damage;       ///< The first problem found, for display; usually "".
};

struct SlabWalk {
  std::vector<SlabCache> caches;  ///< In the kernel's order, which is slabinfo's.
  std::string damage;             ///< A problem with the list of caches, for display; usually "".
};

/// Walks the list of caches. Errors: kKvmNoSymbol and kVersion if the kernel's slabs have an unknown structure.
/// Problems with a cache or its lists are in its `damage`.
Result<SlabWalk> walk_slab_caches(KernelImage& image, const LinuxMachine& machine);

/// Smaller values are not kernel addresses on either machine, whose addresses have up to 57 or 52 bits.
inline constexpr std::uint64_t kFirstKernelAddress = 0xff00'0000'0000'0000;

/// The format of a cache's list of free objects: each contains the address of the next. With CONFIG_SLAB_FREELIST_HARDENED
/// the address is XORed with a random number and with its location (freelist_ptr_decode), byte-swapped since Linux commit
/// 1ad53d9fa3f6 ("slub: improve bit diffusion for freelist ptr obfuscation") (v5.7).
struct FreeListFormat {
  std::uint64_t offset = 0;             ///< Offset of the next address within an object, in B.
  std::optional<std::uint64_t> random;  ///< Empty: addresses are stored as they are.
};

/// The fields of struct kmem_cache with the format.
class FreeListFields {
 public:
  explicit FreeListFields(StructReader& cache) : offset_(cache.field("offset")), random_(cache.field("random")) {}
  /// For the loaded cache.
  [[nodiscard]] FreeListFormat of(const StructReader& cache) const {
    FreeListFormat format{.offset = cache.get(offset_), .random = {}};
    if (random_) format.random = cache.get(random_);
    return format;
  }

 private:
  StructField offset_, random_;
};

/// Visits up to `most` objects of a list from `object` on (0: empty list), until `visit` returns false. Returns "", or
/// the problem if the list leads to an invalid object.
std::string walk_free_list(KernelImage& image, const FreeListFormat& format, std::uint64_t object, std::uint64_t most,
                           const std::function<bool(std::uint64_t)>& visit);

/// Finds the allocated objects of a cache from walk_slab_caches(), and lists at most `most`. Errors: those of
/// PageMap::find and KernelImage::read; kVersion. Problems with a single slab become notes.
Result<SlabObjects> read_slab_objects(KernelImage& image, const SlabCache& cache, std::uint64_t most);

}  // namespace memstat::postmortem
