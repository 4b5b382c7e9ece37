// SPDX-License-Identifier: BSD-2-Clause
// Lists of free objects of one slab cache, as mm/slub.c links them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/postmortem/kernel/struct_reader.h"
#include "core/postmortem/linux/kernel_image.h"

namespace memstat::postmortem {

/// What is below is no address of the kernel's, on both machines: addresses have 57 or 52 bits.
inline constexpr std::uint64_t kFirstKernelAddress = 0xff00'0000'0000'0000;

/// How a cache links them: each free object has the address of the next, with CONFIG_SLAB_FREELIST_HARDENED mixed with a
/// random number and with where it stands (freelist_ptr_decode; bytes swapped since Linux 5.7, 1ad53d9fa3f6).
/// Thread safety: a plain value.
struct FreeListFormat {
  std::uint64_t offset = 0;             ///< Of the next one's address in an object, B.
  std::optional<std::uint64_t> random;  ///< None: addresses are as they are.
};

/// Fields of a struct kmem_cache that say so.
class FreeListFields {
 public:
  explicit FreeListFields(StructReader& cache) : offset_(cache.field("offset")), random_(cache.field("random")) {}
  /// Of the cache that was loaded.
  [[nodiscard]] FreeListFormat of(const StructReader& cache) const {
    FreeListFormat format{.offset = cache.get(offset_), .random = {}};
    if (random_) format.random = cache.get(random_);
    return format;
  }

 private:
  StructField offset_, random_;
};

/// Visits the objects of a list that begins with `object` (0: it is empty), at most `most`, until `visit` says false. "" or
/// where the list leads that is no object.
std::string walk_free_list(KernelImage& image, const FreeListFormat& format, std::uint64_t object, std::uint64_t most,
                           const std::function<bool(std::uint64_t)>& visit);

}  // namespace memstat::postmortem
