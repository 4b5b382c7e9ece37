// SPDX-License-Identifier: BSD-2-Clause
// Compressed dumps as makedumpfile writes them (-c, -l, -z), whose format began as diskdump:
//
//   block 0            a header: "KDUMP   ", version, uname(2), sizes of what follows, in blocks
//   block 1 ...        more of the header, VMCOREINFO
//   two bitmaps        a bit for each page: memory is there; the page is in the dump
//   page descriptors   for each page of the second bitmap: where it is, how many bytes, how they are packed
//   pages
//
// Not read with libkdumpfile: version 0.5.1 (Debian 12) ends the process on invalid headers.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "core/postmortem/container/block_file.h"
#include "core/postmortem/container/physical_memory.h"

namespace memstat::postmortem {

/// What the header says. Thread safety: a plain value.
struct KdumpLayout {
  static constexpr std::size_t kHeaderBytes = 464;
  static constexpr std::size_t kMoreBytes = 104;  ///< Of block 1.

  Machine machine = Machine::kX86;
  std::uint64_t block_bytes = 0;  ///< Of a page, too: 4096 to 65536.
  std::uint64_t pages = 0;        ///< One more than the highest page that the second bitmap has a bit for.
  std::uint64_t bitmap_at = 0;    ///< B in the file: the second bitmap.
  std::uint64_t descriptors_at = 0;
  std::uint64_t info_at = 0;  ///< VMCOREINFO.
  std::uint64_t info_bytes = 0;
};

/// Takes the first bytes of block 0; where block 1 begins is in `block_bytes`. `more` are its first bytes, "" before they
/// are known, when only machine and block size are of use. Errors: kVersion, kData with the offset of what is wrong.
Result<KdumpLayout> parse_kdump_header(std::string_view header, std::string_view more, std::string_view file);

/// Whether a file that begins like this is a compressed dump.
bool is_kdump_file(std::string_view head);

/// Opens a dump; pages are unpacked when they are asked for, and 4 MiB of them are held. Errors: those of reading and of
/// parse_kdump_header.
Result<std::unique_ptr<PhysicalMemory>> open_kdump_file(BlockFile file);

}  // namespace memstat::postmortem
