// SPDX-License-Identifier: BSD-2-Clause
// Who allocated an object of a slab cache and when, which the kernel keeps behind each object of caches with
// SLAB_STORE_USER (slab_debug=U, or slub_debug=U): struct track of mm/slub.c, and the stack depot (lib/stackdepot.c).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/postmortem/kernel/struct_reader.h"
#include "core/postmortem/linux/kernel_image.h"

namespace memstat::postmortem {

/// One allocation. Thread safety: a plain value.
struct ObjectOrigin {
  std::uint64_t caller = 0;          ///< The address that the allocator returned to.
  std::vector<std::uint64_t> stack;  ///< Return addresses, the innermost first; empty where none can be read.
  std::uint64_t pid = 0;             ///< Of the thread.
  std::uint64_t cpu = 0;
  std::optional<std::uint64_t> age_ns;  ///< By jiffies; none: how long one is is not known.
};

/// Reads them. Thread safety: none; one thread at a time.
class ObjectOrigins {
 public:
  /// Declares the fields of `cache`, a struct kmem_cache, that select() looks at.
  ObjectOrigins(KernelImage& image, StructReader& cache);

  /// Makes read() answer for the cache that was loaded. False when the kernel keeps nothing of its objects.
  bool select(const StructReader& cache);
  /// Of the object at `address`; nothing where the kernel kept nothing or it cannot be read.
  std::optional<ObjectOrigin> read(std::uint64_t address);

 private:
  void read_clock();
  [[nodiscard]] std::vector<std::uint64_t> read_stack(std::uint64_t track);
  // The part of the depot and the place in it that a handle names.
  [[nodiscard]] std::optional<std::pair<std::uint64_t, std::uint64_t>> place_of(std::uint64_t handle) const;
  std::vector<std::uint64_t> read_record(std::uint64_t address, std::uint64_t handle);

  KernelImage& image_;
  StructReader track_;
  StructReader record_;
  StructField caller_, when_, pid_, cpu_, handle_;
  StructField pool_part_, offset_part_;  // of a handle
  std::uint64_t first_pool_ = 0;         // how handles number the first part of the depot
  StructField record_handle_, record_size_;
  StructField cache_flags_, cache_used_, cache_offset_;
  std::uint64_t distance_ = 0;  // from an object to its track
  std::uint64_t now_ = 0;       // jiffies
  std::uint64_t tick_ns_ = 0;   // 0: not known
};

}  // namespace memstat::postmortem
