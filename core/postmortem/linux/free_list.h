// SPDX-License-Identifier: BSD-2-Clause
// The free lists of a slab cache, as linked by mm/slub.c.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/postmortem/kernel/struct_reader.h"
#include "core/postmortem/linux/kernel_image.h"

namespace memstat::postmortem {

/// Smaller values are not kernel addresses on either machine, whose addresses have up to 57 or 52 bits.
inline constexpr std::uint64_t kFirstKernelAddress = 0xff00'0000'0000'0000;

/// How a cache links its free objects: each holds the address of the next. With CONFIG_SLAB_FREELIST_HARDENED the
/// address is XORed with a random number and with its location (freelist_ptr_decode), byte-swapped since Linux commit
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

}  // namespace memstat::postmortem
