// SPDX-License-Identifier: BSD-2-Clause
// Pages of compressed dumps, unpacked by zlib, lzo and zstd where these were there at build time.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/result.h"

namespace memstat::postmortem {

/// How a page is packed, as its descriptor says; 0 for one that is not.
enum PagePackings : std::uint32_t { kPackedByZlib = 0x1, kPackedByLzo = 0x2, kPackedBySnappy = 0x4, kPackedByZstd = 0x20 };

/// Unpacks any bytes into the whole of `page`. `dump` and `at` are for errors: kData for bytes that do not make a page,
/// kVersion for a packing that is not known or that this build has no library for. Thread safety: safe.
Result<void> unpack_page(std::uint32_t packing, std::string_view bytes, std::span<char> page, std::string_view dump,
                         std::uint64_t at);

}  // namespace memstat::postmortem
