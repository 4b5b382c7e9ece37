// SPDX-License-Identifier: BSD-2-Clause
// Decompresses pages of compressed dumps with zlib, lzo and zstd, if these were available at build time.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/result.h"

namespace memstat::postmortem {

/// The compression of a page, from its descriptor; 0 for none.
enum PagePackings : std::uint32_t { kPackedByZlib = 0x1, kPackedByLzo = 0x2, kPackedBySnappy = 0x4, kPackedByZstd = 0x20 };

/// Unpacks untrusted bytes, which must fill `page`. `dump` and `at` are for errors: kData for corrupt bytes, kVersion
/// for a compression that is unknown or missing in this build.
Result<void> unpack_page(std::uint32_t packing, std::string_view bytes, std::span<char> page, std::string_view dump,
                         std::uint64_t at);

}  // namespace memstat::postmortem
