// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/container/packed_page.h"

#ifdef MEMSTAT_HAVE_ZLIB
#include <zlib.h>
#endif
#ifdef MEMSTAT_HAVE_LZO
#include <lzo/lzo1x.h>
#endif
#ifdef MEMSTAT_HAVE_ZSTD
#include <zstd.h>
#endif

#include <algorithm>
#include <optional>
#include <string>

namespace memstat::postmortem {
namespace {

/// Returns the unpacked size; empty for corrupt data.
using Unpack = std::optional<std::size_t> (*)(std::string_view bytes, std::span<char> page);

struct Packing {
  std::uint32_t flag;
  const char* name;
  Unpack unpack;  // nullptr: not in this build
};

#ifdef MEMSTAT_HAVE_ZLIB
std::optional<std::size_t> unpack_zlib(std::string_view bytes, std::span<char> page) {
  uLongf size = page.size();
  const int done = uncompress(reinterpret_cast<Bytef*>(page.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()),
                              static_cast<uLong>(bytes.size()));
  return done == Z_OK ? std::optional<std::size_t>(size) : std::nullopt;
}
#else
constexpr Unpack unpack_zlib = nullptr;
#endif

#ifdef MEMSTAT_HAVE_LZO
std::optional<std::size_t> unpack_lzo(std::string_view bytes, std::span<char> page) {
  lzo_uint size = page.size();
  const int done = lzo1x_decompress_safe(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
                                         reinterpret_cast<unsigned char*>(page.data()), &size, nullptr);
  return done == LZO_E_OK ? std::optional<std::size_t>(size) : std::nullopt;
}
#else
constexpr Unpack unpack_lzo = nullptr;
#endif

#ifdef MEMSTAT_HAVE_ZSTD
std::optional<std::size_t> unpack_zstd(std::string_view bytes, std::span<char> page) {
  const std::size_t size = ZSTD_decompress(page.data(), page.size(), bytes.data(), bytes.size());
  return ZSTD_isError(size) == 0 ? std::optional<std::size_t>(size) : std::nullopt;
}
#else
constexpr Unpack unpack_zstd = nullptr;
#endif

constexpr Packing kPackings[] = {{kPackedByZlib, "zlib", unpack_zlib},
                                 {kPackedByLzo, "lzo", unpack_lzo},
                                 {kPackedBySnappy, "snappy", nullptr},
                                 {kPackedByZstd, "zstd", unpack_zstd}};

}  // namespace

Result<void> unpack_page(std::uint32_t packing, std::string_view bytes, std::span<char> page, std::string_view dump,
                         std::uint64_t at) {
  if (packing == 0) {
    if (bytes.size() != page.size()) return data_error(dump, at, "has a page of " + std::to_string(bytes.size()) + " bytes");
    std::copy(bytes.begin(), bytes.end(), page.begin());
    return {};
  }
  for (const Packing& known : kPackings) {
    if (known.flag != packing) continue;
    if (known.unpack == nullptr) {
      return data_error(dump, at,
                        std::string("has pages packed by ") + known.name +
                            ", which this build does not read; make an ELF dump of it: makedumpfile -E",
                        ErrorCode::kVersion);
    }
    if (known.unpack(bytes, page) == page.size()) return {};
    return data_error(dump, at, std::string("has a page that cannot be unpacked by ") + known.name);
  }
  return data_error(dump, at, "has a page that is compressed by unknown method " + std::to_string(packing));
}

}  // namespace memstat::postmortem
