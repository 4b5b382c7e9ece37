// SPDX-License-Identifier: BSD-2-Clause
// The task, call stack and time of a slab object's allocation. The kernel records these after each object of caches with
// SLAB_STORE_USER (slab_debug=U, or slub_debug=U): struct track in mm/slub.c, and the stack depot (lib/stackdepot.c).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/postmortem/kernel/struct_reader.h"
#include "core/postmortem/linux/kernel_image.h"

namespace memstat::postmortem {

/// The allocation of an object.
struct ObjectOrigin {
  std::uint64_t caller = 0;          ///< Return address of the allocator.
  std::vector<std::uint64_t> stack;  ///< Return addresses, innermost first; empty if unreadable.
  std::uint64_t pid = 0;             ///< Number of the thread.
  std::uint64_t cpu = 0;
  std::optional<std::uint64_t> age_ns;  ///< From jiffies; empty if the length of a jiffy is unknown.
};

/// Reads the allocation tracks of objects.
class ObjectOrigins {
 public:
  /// Adds the fields that select() needs to `cache`, a struct kmem_cache.
  ObjectOrigins(KernelImage& image, StructReader& cache);

  /// Selects the loaded cache for read(). Returns false if the kernel keeps no tracks for its objects.
  bool select(const StructReader& cache);
  /// The origin of the object at `address`; empty if the kernel recorded none or it is unreadable.
  std::optional<ObjectOrigin> read(std::uint64_t address);

 private:
  void read_clock();
  [[nodiscard]] std::vector<std::uint64_t> read_stack(std::uint64_t track);
  // The pool and the offset in it that a handle refers to.
  [[nodiscard]] std::optional<std::pair<std::uint64_t, std::uint64_t>> place_of(std::uint64_t handle) const;
  std::vector<std::uint64_t> read_record(std::uint64_t address, std::uint64_t handle);

  KernelImage& image_;
  StructReader track_;
  StructReader record_;
  StructField caller_, when_, pid_, cpu_, handle_;
  StructField pool_part_, offset_part_;  // in a handle
  std::uint64_t first_pool_ = 0;         // how handles number the first pool
  StructField record_handle_, record_size_;
  StructField cache_flags_, cache_used_, cache_offset_;
  std::uint64_t distance_ = 0;  // from an object to its track
  std::uint64_t now_ = 0;       // jiffies
  std::uint64_t tick_ns_ = 0;   // 0: unknown
};

}  // namespace memstat::postmortem
