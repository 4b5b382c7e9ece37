// SPDX-License-Identifier: BSD-2-Clause
// Compressed dumps as written by makedumpfile (-c, -l, -z), in a format that comes from diskdump:
//
//   block 0            a header: "KDUMP   ", version, uname(2), sizes of the following pieces in blocks
//   block 1 ...        more of the header, VMCOREINFO
//   two bitmaps        a bit for each page: memory exists; the page is in the dump
//   page descriptors   for each page of the second bitmap: offset, size, compression
//   pages
//
// Not read with libkdumpfile, because version 0.5.1 (Debian 12) ends the process on invalid headers.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "core/postmortem/container/block_file.h"
#include "core/postmortem/container/physical_memory.h"

namespace memstat::postmortem {

/// The content of the headers.
struct KdumpLayout {
  static constexpr std::size_t kHeaderBytes = 464;
  static constexpr std::size_t kMoreBytes = 104;  ///< In block 1.

  Machine machine = Machine::kX86;
  std::uint64_t block_bytes = 0;  ///< Also the page size: 4096 to 65536.
  std::uint64_t pages = 0;        ///< The highest page in the second bitmap plus one.
  std::uint64_t bitmap_at = 0;    ///< File offset of the second bitmap.
  std::uint64_t descriptors_at = 0;
  std::uint64_t info_at = 0;  ///< Of VMCOREINFO.
  std::uint64_t info_bytes = 0;
};

/// Parses the first bytes of block 0. `more`: the first bytes of block 1, whose offset is `block_bytes`; "" on the
/// first call, which returns only machine and block size. Errors: kVersion, kData with the offset of a malformed field.
Result<KdumpLayout> parse_kdump_header(std::string_view header, std::string_view more, std::string_view file);

/// Whether these are the first bytes of a compressed dump.
bool is_kdump_file(std::string_view head);

/// Opens a dump. Pages are unpacked on demand, with a cache of 4 MiB. Errors: read errors, and those of
/// parse_kdump_header.
Result<std::unique_ptr<PhysicalMemory>> open_kdump_file(BlockFile file);

}  // namespace memstat::postmortem
